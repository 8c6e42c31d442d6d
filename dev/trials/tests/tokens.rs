//! Tokens of one key over many acquisitions in several processes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use leasehold_testkit::history::History;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;

#[tokio::test]
async fn each_of_100_000_acquisitions_has_a_larger_token_than_the_one_before() {
    const EACH: usize = 50_000;
    let server = RedisServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = ["one", "other"].map(|name| folder.path().join(name));
    let begin = Instant::now();
    let mut processes = Vec::new();
    for file in &files {
        let draw = ["draw", "k", "4", &EACH.to_string()].map(str::to_owned);
        let client = ChildProcess::of(env!("CARGO_BIN_EXE_client"))
            .arg(server.url())
            .args(draw)
            .arg(file)
            .start();
        processes.push(client.unwrap());
    }
    for client in &mut processes {
        let ended = client.end(Duration::from_secs(300)).await.unwrap();
        assert!(ended.success(), "{}", client.last_words());
    }
    println!("{} acquisitions in {:?}", EACH * 2, begin.elapsed());

    let history = History::read(&files).unwrap();
    history.check().unwrap();
    let holds = history.holds();
    assert_eq!(holds.len(), EACH * 2);
    let changes = holds.windows(2).filter(|pair| {
        assert!(
            pair[1].token > pair[0].token,
            "{} then {}",
            pair[0],
            pair[1]
        );
        pair[0].number >> 32 != pair[1].number >> 32
    });
    // Both took part all the time, or it would say little.
    assert!(changes.count() > EACH / 10);
}
