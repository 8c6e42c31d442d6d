//! A client does not send unnecessary commands, and does not keep unnecessary connections.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::single::server::Server;

/// Returns how many scripts the server has run.
async fn scripts_run(server: &Server) -> u64 {
    let mut info = redis::cmd("INFO");
    info.arg("commandstats");
    let told: String = info.query_async(&mut server.raw().await).await.unwrap();
    let calls = told
        .lines()
        .find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let calls = calls.and_then(|line| line.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn a_holder_sends_no_command_until_a_renewal_is_due() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let _guard = locks.lock("k").acquire().await.unwrap();
    let before = scripts_run(&server).await;
    // Longer than several intervals between two checks for an interrupted connection.
    sleep(Duration::from_millis(450)).await;
    assert_eq!(scripts_run(&server).await, before);
}

#[tokio::test]
async fn a_shutdown_ends_the_connection() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let ours = async || {
        let mut list = redis::cmd("CLIENT");
        list.arg("LIST");
        let all: String = list.query_async(&mut server.raw().await).await.unwrap();
        // Subtract the connection of this query.
        all.lines().count() - 1
    };
    drop(locks.lock("k").acquire().await.unwrap());
    assert_eq!(ours().await, 1);
    locks.shutdown().await.unwrap();
    let gone = async {
        while ours().await > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.unwrap();
}
