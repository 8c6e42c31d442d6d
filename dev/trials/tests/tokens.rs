//! Tokens of one key over many acquisitions in several processes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use leasehold_testkit::servers::RedisServer;
use leasehold_trials::fleet::{Fleet, Work};

#[tokio::test]
async fn each_of_100_000_acquisitions_has_a_larger_token_than_the_one_before() {
    const EACH: usize = 50_000;
    let server = RedisServer::start().await.unwrap();
    let work = Work {
        tasks: 4,
        count: EACH,
        ttl: Duration::from_secs(30),
        hold: Duration::ZERO,
        permits: None,
    };
    let mut fleet = Fleet::new(env!("CARGO_BIN_EXE_client"), &server.url(), work).unwrap();
    let begin = Instant::now();
    fleet.start(|client| client).unwrap();
    fleet.start(|client| client).unwrap();
    fleet.end(Duration::from_secs(300)).await.unwrap();
    println!("{} acquisitions in {:?}", EACH * 2, begin.elapsed());

    let history = fleet.history().unwrap();
    history.check().unwrap();
    let holds = history.holds();
    assert_eq!(holds.len(), EACH * 2);
    let changes = holds.windows(2).filter(|pair| {
        let (one, next) = (&pair[0], &pair[1]);
        assert!(next.token > one.token, "{one} then {next}");
        next.number >> 32 != one.number >> 32
    });
    // Both took part all the time, or it would say little.
    assert!(changes.count() > EACH / 10);
}
