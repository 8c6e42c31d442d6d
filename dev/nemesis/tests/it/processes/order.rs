//! The order of grants, with three processes of eight tasks each.

use std::time::{Duration, SystemTime};

use leasehold_nemesis::clients::{Clients, Repeat};
use leasehold_nemesis::monitor::{Watch, grants, longest_gap, out_of_turn};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::depth;
use leasehold_testkit::servers::RedisServer;
use tokio::time::sleep;

use crate::processes::{CLIENT, ENDLESS, started, work};

const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn grants_keep_the_queue_order_despite_wrong_client_clocks() {
    let each = depth::scaled(300);
    const MINUTES: i64 = 60;
    let server = RedisServer::start().await.unwrap();
    let watch = Watch::start(&server.url()).await.unwrap();
    let mut clients = Clients::new(CLIENT, &server.url(), work(8, each)).unwrap();
    let offsets = [-6 * MINUTES, 0, 6 * MINUTES];
    let shims = offsets.map(|seconds| ClockShim::off_by(seconds).unwrap());
    for shim in &shims {
        clients.start(|client| shim.worn_by(client)).unwrap();
    }
    for (process, offset) in clients.group.processes.iter_mut().zip(offsets) {
        let line = process.line_where(PATIENCE, |line| line.starts_with("clock "));
        let theirs: i64 = line.await.unwrap()["clock ".len()..].parse().unwrap();
        let ours = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let off = theirs - i64::try_from(ours.as_secs()).unwrap();
        assert!(
            (off - offset).abs() < MINUTES,
            "off by {off} and not by {offset}"
        );
    }
    clients.group.end(depth::seconds(120)).await.unwrap();
    let seen = watch.end().await.unwrap();
    let found = out_of_turn(&seen);
    println!(
        "{} grants, {} out of turn, longest gap {:?}",
        grants(&seen),
        found.len(),
        longest_gap(&seen)
    );
    assert_eq!(grants(&seen) as u64, each * 3);
    assert!(found.is_empty(), "{:?}", found.first());
    clients.history().unwrap().check().unwrap();
}

#[tokio::test]
async fn killed_processes_delay_others_by_at_most_the_documented_bound() {
    let ttl = Duration::from_millis(2_500);
    // The documented bound: a TTL if the holder died, and 13 s if a waiter died in the queue.
    let bound = ttl + Duration::from_secs(13);
    let mut gaps = Vec::new();
    // A busy machine may be late in some rounds. A killed process has waiters in the queue in each.
    while gaps.last().is_none_or(|gap| *gap > bound) {
        assert!(
            gaps.len() < 4,
            "more than {bound:?} in each round: {gaps:?}"
        );
        gaps.push(longest_gap_beside_kills(ttl, bound).await);
    }
}

async fn longest_gap_beside_kills(ttl: Duration, bound: Duration) -> Duration {
    const SEED: u64 = 20_261_121;
    let kills = depth::scaled(4);
    let server = RedisServer::start().await.unwrap();
    let watch = Watch::start(&server.url()).await.unwrap();
    let work = Repeat {
        ttl,
        hold: Duration::from_millis(2),
        ..work(8, ENDLESS)
    };
    let mut clients = started(3, &server.url(), work);
    let mut random = fastrand::Rng::with_seed(SEED);
    for _ in 0..kills {
        sleep(Duration::from_millis(random.u64(300..1_500))).await;
        clients.group.kill(random.usize(0..3));
        clients.start(|client| client).unwrap();
    }
    sleep(bound).await;
    clients.group.kill_all();
    let seen = watch.end().await.unwrap();
    let (granted, gap) = (grants(&seen), longest_gap(&seen));
    println!("{granted} grants beside {kills} kills, longest gap {gap:?}");
    assert!(granted > 100, "{granted} grants");
    clients.history().unwrap().check().unwrap();
    gap
}
