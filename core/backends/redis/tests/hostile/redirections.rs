//! A node of a Cluster that redirects each request to a new name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::replies::{Answer, Answers};
use crate::server::commands;

/// The hash slot of the key `lock:k`.
const SLOT: u16 = 14_041;

/// The number of requests for a lock. Each request is redirected five times.
const CALLS: usize = 12;

/// The maximum number of open connections: one to a known node, one to the last redirection, and a few that are
/// closing.
const ENOUGH: usize = 8;

#[derive(Default)]
struct Member {
    port: u16,
    named: AtomicU8,
    open: AtomicUsize,
}

impl Member {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let member = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            ..Self::default()
        });
        let here = Arc::clone(&member);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let here = Arc::clone(&here);
                tokio::spawn(async move {
                    here.open.fetch_add(1, Ordering::SeqCst);
                    here.talk(stream).await;
                    here.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        member
    }

    async fn talk(&self, mut stream: TcpStream) {
        let (mut answers, mut come, mut chunk) = (Answers::right(), Vec::new(), [0; 4096]);
        let mut is_second = false;
        while let Ok(read @ 1..) = stream.read(&mut chunk).await {
            come.extend_from_slice(&chunk[..read]);
            for command in commands(&mut come) {
                let answer = match command.as_str() {
                    "CLUSTER" => {
                        is_second = !is_second;
                        self.of_the_cluster(is_second)
                    }
                    "EVALSHA" | "SSUBSCRIBE" => {
                        let name = self.named.fetch_add(1, Ordering::SeqCst) % 250 + 2;
                        format!("-MOVED {SLOT} 127.0.0.{name}:{}\r\n", self.port).into_bytes()
                    }
                    other => match answers.to(other) {
                        Answer::Bytes(bytes) => bytes,
                        _ => continue,
                    },
                };
                if stream.write_all(&answer).await.is_err() {
                    return;
                }
            }
        }
    }

    fn of_the_cluster(&self, is_info: bool) -> Vec<u8> {
        let port = self.port;
        match is_info {
            true => b"$18\r\ncluster_state:ok\r\n\r\n".to_vec(),
            false => format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
                .into_bytes(),
        }
    }
}

#[tokio::test]
async fn endless_redirections_do_not_leave_many_connections_open() {
    let member = Member::start().await;
    let url = format!("redis+cluster://127.0.0.1:{}", member.port);
    let builder = LockManager::builder();
    let locks = builder
        .backend_retry_timeout(Duration::ZERO)
        .build(Redis::connect(&url).await.unwrap())
        .unwrap();
    for _ in 0..CALLS {
        locks.lock("k").try_acquire().await.unwrap_err();
    }
    assert!(member.named.load(Ordering::SeqCst) > 40, "it was followed");
    let begun = Instant::now();
    while member.open.load(Ordering::SeqCst) > ENOUGH {
        let open = member.open.load(Ordering::SeqCst);
        assert!(begun.elapsed() < Duration::from_secs(20), "{open} are open");
        sleep(Duration::from_millis(5)).await;
    }
}
