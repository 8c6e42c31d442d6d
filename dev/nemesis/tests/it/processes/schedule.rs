//! A job that three processes call in every second, while their clocks differ by up to 800 ms.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold_nemesis::clients::{Schedule, Task, client};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::depth;
use leasehold_testkit::servers::RedisServer;

use crate::processes::CLIENT;

/// The number of calls of each process in `cargo test`, one in each second.
const CALLS: u64 = 10;
const SKEWS_MS: [i64; 3] = [-400, 0, 400];
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns how often the job ran for each slot.
async fn runs(calls: u32, once: bool) -> BTreeMap<String, u32> {
    let server = RedisServer::start().await.unwrap();
    let task = Task::Schedule(Schedule { calls, once });
    let clocks = SKEWS_MS.map(|skew| ClockShim::off_by_millis(skew).unwrap());
    let clients = clocks.each_ref().map(|clock| {
        let client = client(CLIENT, &server.url(), &task);
        clock.worn_by(client).start().unwrap()
    });
    let mut runs = BTreeMap::new();
    for mut client in clients {
        while let Some(line) = client.next_line().await {
            let slot = line.strip_prefix("ran ").unwrap().to_owned();
            *runs.entry(slot).or_default() += 1;
        }
        client.success(PATIENCE).await.unwrap();
    }
    runs
}

#[tokio::test]
async fn each_slot_runs_once_despite_clock_skew_and_not_with_a_lock_alone() {
    let calls = u32::try_from(depth::scaled(CALLS)).unwrap();
    let (once, control) = tokio::join!(runs(calls, true), runs(calls, false));

    println!("with once: {} slots, all of them once", once.len());
    assert!(once.values().all(|runs| *runs == 1), "{once:?}");
    // The first and the last slots may be those of a single process.
    assert!(once.len() >= calls as usize, "{once:?}");

    let several = control.values().filter(|runs| **runs > 1).count();
    println!(
        "with a lock alone: {} slots, {several} of them several times",
        control.len()
    );
    assert!(several * 2 > control.len(), "{control:?}");
}
