//! The tokens of one key over many acquisitions in several processes.

use std::time::{Duration, Instant};

use leasehold_testkit::servers::RedisServer;

use crate::{started, work};

#[tokio::test]
async fn each_of_100_000_acquisitions_has_a_larger_token_than_the_one_before() {
    const EACH: u64 = 50_000;
    let server = RedisServer::start().await.unwrap();
    let begin = Instant::now();
    let mut clients = started(2, &server.url(), work(4, EACH));
    clients.group.end(Duration::from_secs(300)).await.unwrap();
    println!("{} acquisitions in {:?}", EACH * 2, begin.elapsed());

    let history = clients.history().unwrap();
    history.check().unwrap();
    let holds = history.holds();
    assert_eq!(holds.len() as u64, EACH * 2);
    let changes = holds.windows(2).filter(|pair| {
        let (one, next) = (&pair[0], &pair[1]);
        assert!(next.token > one.token, "{one} then {next}");
        next.number >> 32 != one.number >> 32
    });
    // Both processes must take part all the time, otherwise the test would prove little.
    assert!(changes.count() as u64 > EACH / 10);
}
