//! A server or another client that sends data without end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
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
    let waited = is_done.recv_timeout(Duration::from_secs(600));
    waited.expect("it hangs, or it has failed");
}

/// Repeats a case if it returns what was late, because a busy machine may be late by itself. Data that blocks a task does
/// so each time.
fn swift_once<T: std::fmt::Debug>(case: impl Fn() -> Result<(), T>) {
    let mut late = Vec::new();
    while let Err(why) = case() {
        late.push(why);
        assert!(late.len() < 10, "late each time: {late:?}");
    }
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
fn endless_data_from_a_server_blocks_neither_a_call_nor_its_runtime() {
    in_time(|| {
        for threads in [1, 2] {
            for kind in KINDS {
                swift_once(|| try_one(threads, kind));
            }
        }
    });
}

fn try_one(threads: usize, kind: &'static str) -> Result<(), String> {
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
    let begun = Instant::now();
    drop(runtime);
    let (end, stalled) = (begun.elapsed(), stall.longest());
    match took < LIMIT + LATE && end < LATE && stalled < LATE {
        true => Ok(()),
        false => Err(format!(
            "a call of {LIMIT:?} took {took:?}, the runtime's end {end:?}, a stall {stalled:?}: {case}"
        )),
    }
}

#[test]
fn connecting_to_a_server_that_sends_endless_data_returns_an_error() {
    in_time(|| {
        for threads in [1, 2] {
            for (from, kind) in [("HELLO", 0), ("HELLO", 3), ("SCRIPT", 4), ("SUBSCRIBE", 0)] {
                swift_once(|| {
                    let server = Endless::start(from, b"", KINDS[kind].as_bytes());
                    let (runtime, stall) = (runtime(threads), Stall::default());
                    let begun = Instant::now();
                    runtime.block_on(async {
                        tokio::spawn(stall.clone().watch());
                        let connected = Redis::connect(&server.url()).await;
                        connected.map(drop).unwrap_err();
                    });
                    drop(runtime);
                    let (took, stalled) = (begun.elapsed(), stall.longest());
                    // The library's timeout for connecting is five seconds.
                    match took < Duration::from_secs(5) + LATE * 2 && stalled < LATE {
                        true => Ok(()),
                        false => Err((took, stalled)),
                    }
                });
            }
        }
    });
}

#[test]
fn nodes_that_send_endless_data_do_not_block_a_round() {
    in_time(|| {
        swift_once(|| {
            let runtime = runtime(1);
            let servers = [(); 3].map(|()| Endless::start("EVALSHA", b"", KINDS[0].as_bytes()));
            let stall = Stall::default();
            let took = runtime.block_on(async {
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
                begun.elapsed()
            });
            drop(runtime);
            let stalled = stall.longest();
            match took < Duration::from_secs(12) && stalled < LATE {
                true => Ok(()),
                false => Err((took, stalled)),
            }
        });
    });
}

#[test]
fn a_flood_of_published_messages_does_not_stall_the_runtime() {
    in_time(|| swift_once(acquire_during_a_flood));
}

/// Returns the longest call and the longest stall if one of them was too long.
fn acquire_during_a_flood() -> Result<(), (Duration, Duration)> {
    let of_the_server = runtime(2);
    let server = of_the_server.block_on(async {
        let server = RedisServer::builder().start().await.unwrap();
        Arc::new(server)
    });
    let (here, stall) = (runtime(1), Stall::default());
    let longest = here.block_on(async {
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
        let mut longest = Duration::ZERO;
        while Instant::now() < end {
            let begun = Instant::now();
            // Many messages may arrive before the reply.
            drop(locks.lock("k").try_acquire().await);
            longest = longest.max(begun.elapsed());
        }
        longest
    });
    drop(here);
    let stalled = stall.longest();
    match longest < LIMIT + LATE && stalled < LATE {
        true => Ok(()),
        false => Err((longest, stalled)),
    }
}

async fn inbox_of(server: &RedisServer) -> String {
    let client = redis::Client::open(server.url()).unwrap();
    // By default, a reply may take only half a second.
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(Duration::from_secs(60)))
        .set_response_timeout(Some(Duration::from_secs(60)));
    let raw = client.get_multiplexed_async_connection_with_config(&patient);
    let mut raw = raw.await.unwrap();
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
