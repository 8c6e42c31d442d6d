//! `ZooKeeper`, alone and as an ensemble.

use std::time::{Duration, Instant};

use leasehold_testkit::servers::ZooKeeperServer;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::fake::Outcome;

#[tokio::test]
async fn serves_alone_and_is_gone_when_dropped() -> Outcome {
    let server = ZooKeeperServer::start().await?;
    assert_eq!(server.role().await?, "standalone");
    server.restart().await?;
    assert_eq!(server.role().await?, "standalone");
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).await.is_err());
    Ok(())
}

#[tokio::test]
async fn three_elect_a_leader_and_another_after_it() -> Outcome {
    let three = ZooKeeperServer::builder().start_three().await?;
    let (first, follower) = (three.leader().await?, three.follower().await?);
    assert_eq!(three.nodes()[follower].role().await?, "follower");

    three.cut_off(follower);
    let begin = Instant::now();
    while three.nodes()[follower].role().await.is_ok() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "it still follows"
        );
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(three.leader().await?, first);
    three.reconnect(follower);
    three.nodes()[follower].until_ready().await?;

    three.nodes()[first].kill();
    let second = loop {
        let leader = three.leader().await?;
        if leader != first {
            break leader;
        }
    };
    three.nodes()[first].restart().await?;
    assert_eq!(three.leader().await?, second);
    Ok(())
}
