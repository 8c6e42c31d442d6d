//! The tokens of one key over many acquisitions in several processes.

use std::time::Instant;

use leasehold_testkit::depth;
use leasehold_testkit::servers::RedisServer;

use crate::processes::{started, work};

#[tokio::test]
async fn tokens_increase_over_the_acquisitions_of_two_processes() {
    let each = depth::scaled(1_500);
    let server = RedisServer::start().await.unwrap();
    let begin = Instant::now();
    let mut clients = started(2, &server.url(), work(4, each));
    clients.group.end(depth::seconds(300)).await.unwrap();
    println!("{} acquisitions in {:?}", each * 2, begin.elapsed());

    let history = clients.history().unwrap();
    history.check().unwrap();
    let holds = history.holds();
    assert_eq!(holds.len() as u64, each * 2);
    let changes = holds.windows(2).filter(|pair| {
        let (one, next) = (&pair[0], &pair[1]);
        assert!(next.token > one.token, "{one} then {next}");
        next.number >> 32 != one.number >> 32
    });
    // Both processes must take part all the time, otherwise the test would prove little.
    assert!(changes.count() as u64 > each / 10);
}
