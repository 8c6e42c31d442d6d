//! A server or another client that sends data without end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(feature = "redlock")]
use leasehold::LockManager;
use leasehold::backend::redis::Redis;
#[cfg(feature = "redlock")]
use leasehold::backend::redlock::Redlock;
use leasehold_testkit::servers::RedisServer;
use tokio::runtime::{Builder, Runtime};

use crate::endless::Endless;

/// The maximum duration of a command.
const LIMIT: Duration = Duration::from_millis(500);

/// The additional duration of a command on a busy machine, and the maximum delay of a ready task.
const LATE: Duration = Duration::from_millis(400);

/// Messages, and values that could be replies.
const KINDS: [&str; 14] = [
    ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n",
    ">2\r\n+invalidate\r\n_\r\n",
    ">1\r\n+x\r\n",
    "_\r\n",
    ":1\r\n",
    "+OK\r\n",
    "-ERR no\r\n",
    "$-1\r\n",
    "$3\r\nabc\r\n",
    "*2\r\n:1\r\n*1\r\n_\r\n",
    "%1\r\n+k\r\n#t\r\n",
    "~1\r\n,1.5\r\n",
    "|1\r\n+k\r\n+v\r\n(12345678901234567890\r\n",
    "=7\r\ntxt:abc\r\n",
];

fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().unwrap()
}

/// Fails if `what` hangs, even if it hangs at the end of a runtime.
fn in_time(what: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    thread::spawn(move || {
        what();
        done.send(()).unwrap();
    });
    let waited = is_done.recv_timeout(Duration::from_secs(60));
    waited.expect("it hangs, or it has failed");
}

/// The longest delay of a ready task, in milliseconds.
#[derive(Default, Clone)]
struct Stall(Arc<AtomicU64>);

impl Stall {
    async fn watch(self) {
        const PAUSE: Duration = Duration::from_millis(5);
        loop {
            let begun = Instant::now();
            tokio::time::sleep(PAUSE).await;
            let late = begun.elapsed().saturating_sub(PAUSE).as_millis();
            self.0
                .fetch_max(late.try_into().unwrap(), Ordering::Relaxed);
        }
    }

    fn longest(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

#[test]
fn a_call_ends_and_a_runtime_does_whatever_a_server_says_without_an_end() {
    in_time(|| {
        for threads in [1, 2] {
            for kind in KINDS {
                try_one(threads, kind);
            }
        }
    });
}

fn try_one(threads: usize, kind: &'static str) {
    let case = format!("{kind:?} on {threads} threads");
    let (runtime, stall) = (runtime(threads), Stall::default());
    // `TIME` is the first command on a new connection.
    let server = Endless::start("TIME", b"", kind.as_bytes());
    let took = runtime.block_on(async {
        tokio::spawn(stall.clone().watch());
        let redis = Redis::connect(&server.url()).await.unwrap();
        let builder = LockManager::builder().command_timeout(LIMIT);
        let locks = builder
            .backend_retry_timeout(Duration::ZERO)
            .build(redis)
            .unwrap();
        let asking = tokio::spawn(async move {
            let begun = Instant::now();
            let refused = locks.lock("k").try_acquire().await;
            refused.unwrap_err();
            begun.elapsed()
        });
        asking.await.unwrap()
    });
    assert!(
        took < LIMIT + LATE,
        "a call of {LIMIT:?} took {took:?}: {case}"
    );
    let begun = Instant::now();
    drop(runtime);
    let took = begun.elapsed();
    assert!(took < LATE, "the runtime's end took {took:?}: {case}");
    let stalled = stall.longest();
    assert!(stalled < LATE, "{stalled:?}: {case}");
}

#[test]
fn connecting_ends_whatever_a_server_says_without_an_end() {
    in_time(|| {
        for threads in [1, 2] {
            for (from, kind) in [("HELLO", 0), ("HELLO", 3), ("SCRIPT", 4), ("SUBSCRIBE", 0)] {
                let server = Endless::start(from, b"", KINDS[kind].as_bytes());
                let (runtime, stall) = (runtime(threads), Stall::default());
                let begun = Instant::now();
                runtime.block_on(async {
                    tokio::spawn(stall.clone().watch());
                    let connected = Redis::connect(&server.url()).await;
                    connected.map(drop).unwrap_err();
                });
                drop(runtime);
                // The library's timeout for connecting is five seconds.
                assert!(begun.elapsed() < Duration::from_secs(5) + LATE * 2);
                assert!(stall.longest() < LATE, "{:?}", stall.longest());
            }
        }
    });
}

#[cfg(feature = "redlock")]
#[test]
fn a_node_that_talks_without_an_end_keeps_no_round_from_its_end() {
    in_time(|| {
        let runtime = runtime(1);
        let servers = [(); 3].map(|()| Endless::start("EVALSHA", b"", KINDS[0].as_bytes()));
        let stall = Stall::default();
        runtime.block_on(async {
            tokio::spawn(stall.clone().watch());
            let nodes = servers.iter().map(Endless::url);
            let begun = Instant::now();
            if let Ok(redlock) = Redlock::new(nodes).connect().await {
                let builder = LockManager::builder().command_timeout(LIMIT);
                let locks = builder
                    .backend_retry_timeout(Duration::ZERO)
                    .build(redlock)
                    .unwrap();
                locks.lock("k").try_acquire().await.unwrap_err();
            }
            assert!(begun.elapsed() < Duration::from_secs(12));
        });
        drop(runtime);
        assert!(stall.longest() < LATE, "{:?}", stall.longest());
    });
}

#[test]
fn a_client_that_publishes_to_our_inbox_without_a_pause_stalls_no_runtime() {
    in_time(|| {
        let of_the_server = runtime(2);
        let server = of_the_server.block_on(async {
            let server = RedisServer::builder().start().await.unwrap();
            Arc::new(server)
        });
        let (here, stall) = (runtime(1), Stall::default());
        here.block_on(async {
            let redis = Redis::connect(&server.url()).await.unwrap();
            let builder = LockManager::builder().command_timeout(LIMIT);
            let locks = builder
                .backend_retry_timeout(Duration::ZERO)
                .build(redis)
                .unwrap();
            let inbox = inbox_of(&server).await;
            for _ in 0..2 {
                let publish = format!(
                    "*3\r\n$7\r\nPUBLISH\r\n${}\r\n{inbox}\r\n$1\r\nx\r\n",
                    inbox.len()
                );
                publish_without_pause(server.port(), publish.repeat(500));
            }
            tokio::spawn(stall.clone().watch());
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end {
                let begun = Instant::now();
                // Many messages may arrive before the reply.
                drop(locks.lock("k").try_acquire().await);
                let took = begun.elapsed();
                assert!(took < LIMIT + LATE, "a call of {LIMIT:?} took {took:?}");
            }
        });
        drop(here);
        let stalled = stall.longest();
        assert!(stalled < LATE, "{stalled:?}");
    });
}

async fn inbox_of(server: &RedisServer) -> String {
    let client = redis::Client::open(server.url()).unwrap();
    let mut raw = client.get_multiplexed_async_connection().await.unwrap();
    let mut ask = redis::cmd("PUBSUB");
    ask.arg("CHANNELS").arg("leasehold:inbox:*");
    let [inbox]: [String; 1] = ask.query_async(&mut raw).await.unwrap();
    inbox
}

/// Publishes until the server ends.
fn publish_without_pause(port: u16, publish: String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    thread::spawn(move || {
        let mut answers = [0; 64 * 1024];
        while stream.write_all(publish.as_bytes()).is_ok()
            && stream.read(&mut answers).is_ok_and(|it| it > 0)
        {}
    });
}
