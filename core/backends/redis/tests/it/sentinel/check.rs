//! What a check finds on Sentinels.

use leasehold::check::Verdict;
use leasehold_testkit::servers::SentinelRedis;

use crate::sentinel::servers::{eventually, locks};
use crate::single::check::has;

#[tokio::test]
async fn sentinels_that_cannot_elect_a_primary_are_found() {
    let redis = SentinelRedis::start().await.unwrap();
    let locks = locks(&redis).await;
    eventually("the Sentinels know each other", async || {
        let report = locks.check().await;
        let found = report.findings.iter().find(|it| it.name == "sentinels");
        let found = &found.expect("each check examines them").found;
        found == "3 of 3 can elect a new primary, and know 3 Sentinels"
    })
    .await;
    has(&locks.check().await, Verdict::Good, "sentinels", "");

    let mut last = redis.sentinels()[2].client().await.unwrap();
    // The connection ends without a reply.
    let _closed = last.command(["SHUTDOWN", "NOSAVE"]).await;
    let report = locks.check().await;
    println!("{report}");
    has(
        &report,
        Verdict::Warning,
        "sentinels",
        "2 of 3 can elect a new primary",
    );
    has(
        &report,
        Verdict::Warning,
        "sentinels",
        "start the missing Sentinels",
    );

    for sentinel in &redis.sentinels()[..2] {
        let mut sentinel = sentinel.client().await.unwrap();
        let set = ["SENTINEL", "SET", redis.name(), "quorum", "5"];
        sentinel.command(set).await.unwrap();
    }
    let report = locks.check().await;
    println!("{report}");
    has(&report, Verdict::Failure, "sentinels", "NOQUORUM");
}
