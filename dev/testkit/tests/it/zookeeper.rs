//! `ZooKeeper`, as a single server and as an ensemble.

use std::time::{Duration, Instant};

use leasehold_testkit::servers::ZooKeeperServer;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::fake::Outcome;

#[tokio::test]
async fn single_zookeeper_server_runs_until_it_is_dropped() -> Outcome {
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
async fn disconnected_zookeeper_follower_rejoins_after_reconnect() -> Outcome {
    let three = ZooKeeperServer::builder().start_three().await?;
    let (leader, follower) = (three.leader().await?, three.follower().await?);
    assert_eq!(three.nodes()[follower].role().await?, "follower");
    three.cut_off(follower);
    let begin = Instant::now();
    while three.nodes()[follower].role().await.is_ok() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "it still follows"
        );
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(three.leader().await?, leader);
    three.reconnect(follower);
    three.nodes()[follower].until_ready().await?;
    Ok(())
}

#[tokio::test]
async fn zookeeper_ensemble_elects_a_new_leader_after_a_kill() -> Outcome {
    let three = ZooKeeperServer::builder().start_three().await?;
    let first = three.leader().await?;
    three.nodes()[first].kill();
    assert_ne!(three.leader().await?, first);
    three.nodes()[first].restart().await?;
    Ok(())
}
