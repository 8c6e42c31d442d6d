//! Sentinels that report a wrong primary, or know less than the others.

use std::sync::Arc;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::RedisServer;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::sentinel::servers::{eventually, soon, whole};

/// A fake Sentinel that reports what the test sets.
struct Puppet {
    port: u16,
    says: Arc<Mutex<(u64, u16)>>,
    task: JoinHandle<()>,
}

impl Puppet {
    async fn start(epoch: u64, primary: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let says = Arc::new(Mutex::new((epoch, primary)));
        let said = Arc::clone(&says);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(talk(stream, Arc::clone(&said)));
            }
        });
        Self { port, says, task }
    }

    fn says(&self, epoch: u64, primary: u16) {
        *self.says.lock() = (epoch, primary);
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn talk(mut stream: TcpStream, says: Arc<Mutex<(u64, u16)>>) {
    let (mut come, mut chunk) = (String::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        come.push_str(&String::from_utf8_lossy(&chunk[..read]));
        let mut answers = String::new();
        while let Some(command) = next(&mut come) {
            let (epoch, port) = *says.lock();
            let words: Vec<_> = command.iter().map(|it| it.to_ascii_uppercase()).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            answers += &match words[..] {
                ["HELLO", ..] => "%1\r\n+proto\r\n:3\r\n".to_owned(),
                ["SENTINEL", "MASTER", _] => format!("%1\r\n+config-epoch\r\n+{epoch}\r\n"),
                ["SENTINEL", _, _] => format!("*2\r\n+127.0.0.1\r\n+{port}\r\n"),
                ["SUBSCRIBE", _] => ">3\r\n+subscribe\r\n++switch-master\r\n:1\r\n".to_owned(),
                _ => "+OK\r\n".to_owned(),
            };
        }
        if stream.write_all(answers.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Removes and returns the next complete command of the received text.
fn next(come: &mut String) -> Option<Vec<String>> {
    let mut lines = come.split("\r\n");
    let count: usize = lines.next()?.strip_prefix('*')?.parse().ok()?;
    let lines: Vec<_> = lines.take(2 * count + 1).map(str::to_owned).collect();
    if lines.len() <= 2 * count {
        return None;
    }
    let words: Vec<_> = lines.chunks_exact(2).map(|it| it[1].clone()).collect();
    let bytes: usize = lines[..2 * count].iter().map(|it| it.len() + 2).sum();
    let first = come.find("\r\n")? + 2;
    come.drain(..first + bytes);
    Some(words)
}

/// A server that must not get any connection.
struct Trap(TcpListener);

impl Trap {
    async fn set() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).await.unwrap())
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    async fn is_empty(&self) -> bool {
        timeout(Duration::from_millis(1), self.0.accept())
            .await
            .is_err()
    }
}

fn url(sentinels: &[u16]) -> String {
    let hosts: Vec<_> = sentinels
        .iter()
        .map(|it| format!("127.0.0.1:{it}"))
        .collect();
    format!("redis+sentinel://user:secret@{}/main", hosts.join(","))
}

/// Starts a server with the user of the URL.
async fn server() -> RedisServer {
    let server = RedisServer::start().await.unwrap();
    let mut client = server.client().await.unwrap();
    let user = [
        "ACL", "SETUSER", "user", "on", ">secret", "~*", "&*", "+@all",
    ];
    client.command(user).await.unwrap();
    server
}

async fn connections(server: &RedisServer) -> u64 {
    let mut client = server.client().await.unwrap();
    let info = client.command(["INFO", "stats"]).await.unwrap();
    let mut lines = info.text().unwrap().lines();
    let count = lines.find_map(|line| line.strip_prefix("total_connections_received:"));
    count.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_lying_sentinel_is_outvoted_and_its_server_gets_no_password() {
    let (server, trap) = (server().await, Trap::set().await);
    let liar = Puppet::start(u64::MAX, trap.port()).await;
    let honest = [
        Puppet::start(1, server.port()).await,
        Puppet::start(1, server.port()).await,
    ];
    let locks = LockManager::connect(&url(&[liar.port, honest[0].port, honest[1].port]))
        .await
        .unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    let before = connections(&server).await;
    // It continues to report a failover, and no client is interrupted.
    sleep(Duration::from_millis(500)).await;
    assert_eq!(connections(&server).await, before + 1);
    guard.release().await.unwrap();
    assert!(trap.is_empty().await, "somebody was there");
}

#[tokio::test]
async fn without_a_majority_of_sentinels_the_client_does_not_connect() {
    let (server, trap) = (server().await, Trap::set().await);
    let [one, other] = [
        Puppet::start(1, server.port()).await,
        Puppet::start(2, trap.port()).await,
    ];
    let url = url(&[one.port, other.port, 1]);
    let error = LockManager::connect(&url).await.unwrap_err();
    let said = whole(&error);
    assert!(said.contains("no majority of the Sentinels"), "{said}");
    for port in [server.port(), trap.port()] {
        assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
    }
    assert!(trap.is_empty().await, "somebody was there");
    other.says(1, server.port());
    let locks = LockManager::connect(&url).await.unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
}

#[tokio::test]
async fn the_only_sentinel_that_replies_decides() {
    let server = server().await;
    let one = Puppet::start(1, server.port()).await;
    let locks = LockManager::connect(&url(&[1, one.port, 1])).await.unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
}

#[tokio::test]
async fn a_failover_is_followed_once_a_majority_of_sentinels_reports_it() {
    let (old, new) = (server().await, server().await);
    let mut puppets = Vec::new();
    for _ in 0..3 {
        puppets.push(Puppet::start(1, old.port()).await);
    }
    let ports: Vec<_> = puppets.iter().map(|it| it.port).collect();
    let locks = LockManager::connect(&url(&ports)).await.unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
    puppets[0].says(2, new.port());
    // Longer than the interval at which a client queries the Sentinels without an event.
    sleep(Duration::from_millis(5500)).await;
    drop(locks.lock("early").acquire().await.unwrap());
    let early = ["EXISTS", "{lock:early}:lh1:fence"];
    let there = old.client().await.unwrap().command(early).await.unwrap();
    assert_eq!(there, Value::Int(1));
    puppets[1].says(2, new.port());
    eventually("it is followed", async || {
        drop(soon(locks.lock("late").acquire()).await.unwrap());
        let late = ["EXISTS", "{lock:late}:lh1:fence"];
        let there = new.client().await.unwrap().command(late).await.unwrap();
        there == Value::Int(1)
    })
    .await;
}
