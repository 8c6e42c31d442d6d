//! Who is served when: three processes with eight tasks each.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::time::{Duration, SystemTime};

use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::servers::RedisServer;
use leasehold_trials::fleet::{Fleet, Work};
use leasehold_trials::watch::{Watch, grants, longest_gap, out_of_turn};

const PATIENCE: Duration = Duration::from_secs(120);

fn work(count: usize) -> Work {
    Work {
        tasks: 8,
        count,
        ttl: Duration::from_secs(30),
        hold: Duration::ZERO,
        permits: None,
    }
}

#[tokio::test]
async fn of_20_000_grants_none_is_out_of_turn_whatever_the_clients_clocks_say() {
    const EACH: usize = 6_700;
    const MINUTES: i64 = 60;
    let server = RedisServer::start().await.unwrap();
    let watch = Watch::start(&server.url()).await.unwrap();
    let mut fleet = Fleet::new(env!("CARGO_BIN_EXE_client"), &server.url(), work(EACH)).unwrap();
    let offsets = [-6 * MINUTES, 0, 6 * MINUTES];
    let shims = offsets.map(|seconds| ClockShim::off_by(seconds).unwrap());
    for shim in &shims {
        fleet.start(|client| shim.worn_by(client)).unwrap();
    }
    for (process, offset) in fleet.processes.iter_mut().zip(offsets) {
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
    fleet.end(PATIENCE).await.unwrap();
    let seen = watch.end().await;
    let found = out_of_turn(&seen);
    println!(
        "{} grants, {} out of turn, longest gap {:?}",
        grants(&seen),
        found.len(),
        longest_gap(&seen)
    );
    assert_eq!(grants(&seen), EACH * 3);
    assert!(found.is_empty(), "{:?}", found.first());
    fleet.history().unwrap().check().unwrap();
}

#[tokio::test]
async fn processes_that_are_killed_delay_the_others_by_no_more_than_the_bound() {
    const KILLS: usize = 12;
    const SEED: u64 = 20_261_121;
    let ttl = Duration::from_millis(2_500);
    // As the documentation says: a TTL if the holder died, and 13 s for one that died in the queue.
    let bound = ttl + Duration::from_secs(13);
    let server = RedisServer::start().await.unwrap();
    let watch = Watch::start(&server.url()).await.unwrap();
    let work = Work {
        count: usize::MAX / 2,
        ttl,
        hold: Duration::from_millis(2),
        ..work(0)
    };
    let mut fleet = Fleet::new(env!("CARGO_BIN_EXE_client"), &server.url(), work).unwrap();
    for _ in 0..3 {
        fleet.start(|client| client).unwrap();
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(random.u64(300..1_500))).await;
        let victim = random.usize(0..3);
        let mut killed = fleet.processes.swap_remove(victim);
        killed.kill();
        fleet.start(|client| client).unwrap();
    }
    tokio::time::sleep(bound).await;
    for process in &mut fleet.processes {
        process.kill();
    }
    let seen = watch.end().await;
    let (granted, gap) = (grants(&seen), longest_gap(&seen));
    println!("{granted} grants beside {KILLS} kills, longest gap {gap:?}");
    assert!(granted > 1_000 && gap <= bound, "{granted} grants, {gap:?}");
    fleet.history().unwrap().check().unwrap();
}
