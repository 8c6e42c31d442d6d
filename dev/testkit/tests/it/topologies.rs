//! Groups of servers.

use std::time::{Duration, Instant};

use leasehold_testkit::resp::{RawClient, Value};
use leasehold_testkit::servers::{
    ClusterRedis, RedisServer, ReplicatedPostgres, ReplicatedRedis, SentinelRedis,
};

use crate::fake::Outcome;
use crate::servers::at;

async fn get(server: &RedisServer, key: &str) -> Result<Value, Box<dyn std::error::Error>> {
    Ok(server.client().await?.command(["GET", key]).await?)
}

#[tokio::test]
async fn writes_held_back_from_a_redis_replica_are_lost_with_the_primary() -> Outcome {
    let pair = ReplicatedRedis::start().await?;
    let mut client = pair.primary().client().await?;
    client.command(["SET", "early", "1"]).await?;
    assert_eq!(client.command(["WAIT", "1", "5000"]).await?, Value::Int(1));
    pair.hold();
    client.command(["SET", "late", "1"]).await?;
    assert_eq!(client.command(["WAIT", "1", "100"]).await?, Value::Int(0));
    let old = pair.primary().port();
    pair.primary().kill();
    pair.promote().await?;
    assert_ne!(pair.primary().port(), old);
    assert_eq!(get(pair.primary(), "early").await?.text(), Some("1"));
    assert_eq!(get(pair.primary(), "late").await?, Value::Nil);

    pair.rejoin().await?;
    assert_eq!(pair.replica().port(), old);
    assert_eq!(get(pair.replica(), "early").await?.text(), Some("1"));
    Ok(())
}

#[tokio::test]
async fn writes_held_back_from_a_redis_replica_can_be_released() -> Outcome {
    let pair = ReplicatedRedis::start().await?;
    let mut client = pair.primary().client().await?;
    pair.hold();
    client.command(["SET", "key", "1"]).await?;
    assert_eq!(client.command(["WAIT", "1", "50"]).await?, Value::Int(0));
    pair.release();
    client.command(["SET", "key", "2"]).await?;
    assert_eq!(client.command(["WAIT", "1", "5000"]).await?, Value::Int(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_held_back_from_a_postgres_replica_are_lost_with_the_primary() -> Outcome {
    let pair = ReplicatedPostgres::start_asynchronous().await?;
    pair.primary().query("CREATE TABLE early ()").await?;
    let begin = Instant::now();
    while let Err(error) = pair.replica().query("SELECT * FROM early").await {
        assert!(begin.elapsed() < Duration::from_secs(60), "{error}");
    }
    pair.hold();
    pair.primary().query("CREATE TABLE late ()").await?;
    let old = pair.primary().port();
    pair.primary().kill();
    pair.promote().await?;
    assert_ne!(pair.primary().port(), old);
    pair.primary().query("SELECT * FROM early").await?;
    assert!(pair.primary().query("SELECT * FROM late").await.is_err());

    pair.rejoin().await?;
    assert_eq!(pair.replica().port(), old);
    pair.primary().restart().await?;
    pair.primary().query("SELECT * FROM early").await?;
    Ok(())
}

#[tokio::test]
async fn sentinels_replace_a_primary_that_is_killed() -> Outcome {
    let redis = SentinelRedis::start_with_passwords("p", "q").await?;
    assert_eq!(redis.hosts().split(',').count(), redis.sentinels().len());
    let (old, new) = (
        redis.servers().primary().port(),
        redis.servers().replica().port(),
    );
    let begin = Instant::now();
    redis.servers().primary().kill();
    redis.until_failed_over().await?;
    assert!(
        begin.elapsed() < Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(redis.servers().primary().port(), new);
    assert_eq!(redis.servers().replica().port(), old);
    let mut client = redis.servers().primary().client().await?;
    assert!(client.command(["SET", "key", "1"]).await?.is_ok());
    Ok(())
}

#[tokio::test]
async fn masters_of_a_cluster_share_the_slots() -> Outcome {
    let cluster = ClusterRedis::start().await?;
    assert_eq!(cluster.hosts().split(',').count(), 3);
    for (slot, master) in [
        (0, 0),
        (5461, 0),
        (5462, 1),
        (10_922, 1),
        (10_923, 2),
        (16_383, 2),
    ] {
        assert_eq!(cluster.master_of(slot), master, "{slot}");
    }
    let mut client = RawClient::connect(&at(cluster.server(0).port())).await?;
    let shares = client.command(["CLUSTER", "SLOTS"]).await?;
    assert_eq!(shares.items().len(), 3);
    for share in shares.items() {
        let [first, last, master] = &share.items()[..3] else {
            return Err("a share has a range and a master".into());
        };
        let port = master.items()[1].int();
        for slot in [first, last].map(Value::int) {
            let slot = slot.ok_or("a slot is a number")?.try_into()?;
            let number = cluster.master_of(slot);
            assert_eq!(port, Some(cluster.server(number).port().into()));
            assert_eq!(master.items()[2].text(), Some(cluster.id(number)));
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_cluster_of_any_size_serves_all_slots() -> Outcome {
    for masters in [1, 2] {
        let cluster = ClusterRedis::start_with(masters).await?;
        assert_eq!(cluster.hosts().split(',').count(), masters);
        assert_eq!(cluster.master_of(16_383), masters - 1);
        // The slot of `foo` is 12 182.
        let last = cluster.server(cluster.master_of(12_182));
        let mut client = last.client().await?;
        assert!(client.command(["SET", "foo", "1"]).await?.is_ok());
    }
    Ok(())
}

#[tokio::test]
async fn cluster_replica_replaces_its_killed_master() -> Outcome {
    let cluster = ClusterRedis::start_with_replicas().await?;
    cluster.watch_closely().await?;
    cluster.server(0).kill();
    let mut replica = cluster.server(3).client().await?;
    let begin = Instant::now();
    while replica.command(["ROLE"]).await?.items()[0].text() != Some("master") {
        assert!(begin.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
