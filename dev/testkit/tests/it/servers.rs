//! The kinds of servers, and their operations.

use std::time::Duration;

use leasehold_testkit::resp::{RawClient, RespError};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, RedisServer, ServerError};
use tokio::net::TcpStream;

use crate::fake::Outcome;

pub(crate) fn at(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// Returns the error text of an answer, or an empty text if it is not an error.
fn refusal<T>(answer: Result<T, RespError>) -> String {
    match answer {
        Err(RespError::Refused(why)) => why,
        Ok(_) | Err(_) => String::new(),
    }
}

#[tokio::test]
async fn redis_server_listens_on_its_port_and_its_socket() -> Outcome {
    let server = RedisServer::start().await?;
    assert_eq!(server.url(), format!("redis://127.0.0.1:{}", server.port()));
    let mut tcp = RawClient::connect(&at(server.port())).await?;
    assert!(tcp.command(["SET", "key", "value"]).await?.is_ok());
    let mut unix = RawClient::connect_unix(&server.socket()).await?;
    assert_eq!(unix.command(["GET", "key"]).await?.text(), Some("value"));
    let saves = unix.command(["CONFIG", "GET", "save"]).await?;
    assert_eq!(saves.items()[1].text(), Some(""));
    Ok(())
}

#[tokio::test]
async fn dropped_redis_server_is_stopped() -> Outcome {
    let server = RedisServer::start().await?;
    let (port, socket) = (server.port(), server.socket());
    drop(server);
    assert!(RawClient::connect(&at(port)).await.is_err());
    assert!(!socket.exists());
    Ok(())
}

#[tokio::test]
async fn paused_redis_server_does_not_reply() -> Outcome {
    let server = RedisServer::start().await?;
    let patience = Duration::from_millis(50);
    server.pause()?;
    let mut client = RawClient::connect(&at(server.port())).await?;
    client.set_patience(patience);
    let late = client.command(["PING"]).await;
    assert!(matches!(late, Err(RespError::Late(it)) if it == patience));
    server.resume()?;
    client.set_patience(Duration::from_secs(10));
    assert_eq!(client.answer().await?.text(), Some("PONG"));
    Ok(())
}

#[tokio::test]
async fn restarted_redis_server_has_the_same_port_and_no_data() -> Outcome {
    let server = RedisServer::start().await?;
    let (port, pid) = (server.port(), server.pid());
    let mut client = server.client().await?;
    client.command(["SET", "key", "value"]).await?;
    server.kill();
    assert_eq!(server.pid(), None);
    assert!(client.command(["PING"]).await.is_err());
    assert!(RawClient::connect(&at(port)).await.is_err());
    assert!(matches!(server.pause(), Err(ServerError::Dead)));

    server.restart().await?;
    assert_ne!(server.pid(), pid);
    let mut client = RawClient::connect(&at(port)).await?;
    assert_eq!(client.command(["DBSIZE"]).await?.int(), Some(0));
    Ok(())
}

#[tokio::test]
async fn redis_server_with_keeps_data_restarts_with_its_data() -> Outcome {
    let server = RedisServer::builder().keeps_data().start().await?;
    let mut client = server.client().await?;
    client.command(["SET", "key", "value"]).await?;
    server.restart().await?;
    let mut client = server.client().await?;
    assert_eq!(client.command(["GET", "key"]).await?.text(), Some("value"));
    server.restart_empty().await?;
    let mut client = server.client().await?;
    assert_eq!(client.command(["DBSIZE"]).await?.int(), Some(0));
    Ok(())
}

#[tokio::test]
async fn redis_server_requires_its_password() -> Outcome {
    let server = RedisServer::builder().password("p@ss word").start().await?;
    let port = server.port();
    assert_eq!(
        server.url(),
        format!("redis://:p%40ss%20word@127.0.0.1:{port}")
    );
    let mut stranger = RawClient::connect(&at(port)).await?;
    assert!(refusal(stranger.command(["PING"]).await).starts_with("NOAUTH"));
    stranger.command(["AUTH", "p@ss word"]).await?;
    stranger.command(["PING"]).await?;
    server.client().await?.command(["PING"]).await?;
    Ok(())
}

#[tokio::test]
async fn redis_server_enforces_the_permissions_of_users() -> Outcome {
    let server = RedisServer::builder()
        .user("locker", "secret", "~lock:* +@all -publish resetchannels")
        .start()
        .await?;
    let port = server.port();
    assert_eq!(server.url_at(1), "redis://locker:secret@127.0.0.1:1");
    let mut client = RawClient::connect(&at(port)).await?;
    client.command(["AUTH", "locker", "secret"]).await?;
    client.command(["SET", "lock:a", "1"]).await?;
    for words in [&["SET", "a", "1"][..], &["PUBLISH", "c", "m"]] {
        assert!(refusal(client.command(words).await).starts_with("NOPERM"));
    }
    Ok(())
}

#[tokio::test]
async fn redis_server_enforces_memory_and_database_limits() -> Outcome {
    let server = RedisServer::builder()
        .max_memory("2mb", "noeviction")
        .databases(2)
        .arg("--timeout")
        .arg("77")
        .start()
        .await?;
    let mut client = server.client().await?;
    let policy = client
        .command(["CONFIG", "GET", "maxmemory-policy"])
        .await?;
    assert_eq!(policy.items()[1].text(), Some("noeviction"));
    let timeout = client.command(["CONFIG", "GET", "timeout"]).await?;
    assert_eq!(timeout.items()[1].int(), Some(77));
    client.command(["SELECT", "1"]).await?;
    assert!(refusal(client.command(["SELECT", "2"]).await).contains("out of range"));
    let part = "x".repeat(10_000);
    for number in 0..1000 {
        let answer = client.command(["SET", &number.to_string(), &part]).await;
        if answer.is_err() {
            assert!(refusal(answer).starts_with("OOM"));
            return Ok(());
        }
    }
    Err("its memory is never full".into())
}

#[tokio::test]
async fn failed_start_of_a_redis_server_reports_the_reason() -> Outcome {
    let failed = RedisServer::builder()
        .arg("--no-such-setting")
        .arg("1")
        .start();
    let Err(error @ ServerError::Ended { .. }) = failed.await else {
        return Err("it cannot start".into());
    };
    assert!(error.to_string().contains("no-such-setting"), "{error}");
    Ok(())
}

#[tokio::test]
async fn database_servers_accept_connections_until_they_are_dropped() -> Outcome {
    let postgres = PostgresServer::start().await?;
    let port = postgres.port();
    assert_eq!(
        postgres.url(),
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    );
    assert!(TcpStream::connect(at(port)).await.is_ok());
    drop(postgres);
    assert!(TcpStream::connect(at(port)).await.is_err());

    let mariadb = MariaDbServer::start().await?;
    let port = mariadb.port();
    assert_eq!(mariadb.url(), format!("mysql://root@127.0.0.1:{port}/test"));
    assert!(TcpStream::connect(at(port)).await.is_ok());
    drop(mariadb);
    assert!(TcpStream::connect(at(port)).await.is_err());
    Ok(())
}
