//! Chaos tests: which faults happen where, what a report says, and the limits of a test.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests"
)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::chaos::{Chaos, ChaosTest, Failure, Summary};
use leasehold::{EndReason, Error, LockManager, distributed_lock};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

const LONG: Duration = Duration::from_secs(20);

/// Returns a test that tries each fault, however slow the machine is.
fn patient() -> ChaosTest {
    ChaosTest::new().time_limit(Duration::from_secs(600))
}

async fn read_and_write(balance: &Cell<i64>) -> Result<(), Error> {
    let read = balance.get();
    yield_now().await;
    balance.set(read - 10);
    Ok(())
}

/// Withdraws 10 by three clients. `withdraw` is the code to test.
fn check(
    withdraw: impl AsyncFn(LockManager, &Cell<i64>) -> Result<(), Error>,
) -> Result<Summary, Failure> {
    patient().check(async |chaos: Chaos| {
        let balance = Cell::new(100);
        let ends = chaos.clients(3, async |locks| withdraw(locks, &balance).await);
        let ends = ends.await;
        let withdrawn = ends.iter().flatten().filter(|end| end.is_ok()).count();
        let withdrawn = i64::try_from(withdrawn).unwrap();
        let balance = balance.get();
        assert!(
            balance <= 100 - 10 * withdrawn,
            "{withdrawn} times, and {balance} are left"
        );
    })
}

#[test]
fn work_without_run_overwrites_the_other_clients_write_after_a_pause() {
    let line = line!() + 2;
    let failure = check(async |locks, balance| {
        let guard = locks.lock("account:71").acquire().await?;
        read_and_write(balance).await?;
        // The error comes too late.
        guard.release().await
    })
    .unwrap_err();
    let report = failure.to_string();
    for part in [
        "a run failed: 2 times, and 90 are left\n".to_owned(),
        "fault:  the client is paused for longer than its lease\n".to_owned(),
        format!("await 1 after it locked account:71 at core/core/tests/it/chaos.rs:{line}:27\n"),
        format!(
            "LEASEHOLD_CHAOS={} cargo test chaos::work_without_run",
            failure.replay().unwrap()
        ),
        "1 ms  client 1 FAULT: the client is paused".to_owned(),
    ] {
        assert!(report.contains(&part), "{part:?} is not in {report}");
    }
    let random = ["owner", "-", &std::process::id().to_string()];
    for line in failure.history() {
        assert!(
            random
                .iter()
                .all(|it| !line.replace(".rs", "").contains(it)),
            "{line}"
        );
    }
}

#[distributed_lock("account:71")]
async fn locked_account(is_locked: &AtomicBool) -> Result<(), Error> {
    is_locked.store(true, Ordering::Relaxed);
    sleep(Duration::from_millis(1)).await;
    Ok(())
}

#[test]
fn a_report_names_no_place_in_the_sources_of_the_library() {
    let failure = ChaosTest::new().check(async |chaos: Chaos| {
        let is_locked = AtomicBool::new(false);
        let call = async |locks: LockManager| locks.as_default(locked_account(&is_locked)).await;
        let ended = chaos.client(call).await;
        let has_failed = !matches!(ended, Some(Ok(())));
        assert!(
            !has_failed || !is_locked.into_inner(),
            "a locked call failed"
        );
    });
    let report = failure.unwrap_err().to_string();
    assert!(report.contains("after it locked account:71"), "{report}");
    assert!(!report.contains("core/src"), "{report}");
}

#[test]
fn work_with_run_passes_each_case() {
    let summary = check(async |locks, balance| {
        let guard = locks.lock("account:71").acquire().await?;
        guard.run(async |_| read_and_write(balance).await).await
    })
    .unwrap();
    assert!(summary.is_exhaustive() && summary.cases > 20, "{summary:?}");
    assert_eq!(summary.unreached, 0);
}

/// Runs a client that holds a lock for a minute, with each fault. Returns what was seen: whether the client was
/// cancelled, how its lease ended, and after how many seconds the client ended.
fn seen(max_runs: usize) -> HashSet<(bool, Option<EndReason>, u64)> {
    let seen = RefCell::new(HashSet::new());
    let test = patient().max_runs(max_runs);
    let summary = test.check(async |chaos: Chaos| {
        let reason = Cell::new(None);
        let begin = Instant::now();
        let end = chaos.client(async |locks| {
            let guard = locks.lock("k").acquire().await?;
            for _ in 0..3 {
                sleep(LONG).await;
            }
            reason.set(guard.handle().end().map(|lost| lost.reason));
            guard.release().await
        });
        let cancelled = end.await.is_none();
        let seconds = begin.elapsed().as_secs();
        seen.borrow_mut().insert((cancelled, reason.get(), seconds));
    });
    assert_eq!(summary.unwrap().unreached, 0);
    seen.into_inner()
}

#[test]
fn each_kind_of_fault_has_its_effect() {
    let seen = seen(1000);
    let lost = Some(EndReason::Expired);
    // Without a fault, or with a late or lost reply to a renewal.
    assert!(seen.contains(&(false, None, 60)), "{seen:?}");
    // A late reply, and a reply that never arrives: the manager repeats the request after 2 s.
    assert!(seen.contains(&(false, None, 61)), "{seen:?}");
    assert!(seen.contains(&(false, None, 62)), "{seen:?}");
    // Lost, and the client continues immediately.
    assert!(seen.contains(&(false, lost, 60)), "{seen:?}");
    // Paused for twice the lease.
    assert!(seen.contains(&(false, lost, 120)), "{seen:?}");
    // Cancelled while it holds the lock.
    assert!(seen.contains(&(true, None, 20)), "{seen:?}");
    assert!(seen.contains(&(true, None, 40)), "{seen:?}");
}

#[test]
fn lost_lock_is_free_for_the_next_client_immediately() {
    let found = patient().check(async |chaos: Chaos| {
        let second = Cell::new(None);
        let begin = Instant::now();
        let hold = chaos.client(async |locks| {
            let guard = locks.lock("k").acquire().await?;
            sleep(LONG).await;
            sleep(LONG).await;
            guard.release().await
        });
        let wait = chaos.client(async |locks| {
            sleep(Duration::from_secs(1)).await;
            let guard = locks.lock("k").acquire().await?;
            second.set(Some(begin.elapsed().as_secs()));
            guard.release().await
        });
        let (held, _) = tokio::join!(hold, wait);
        let at_the_fault = second.get() == Some(20);
        assert!(held.is_none() || !at_the_fault, "granted at the fault");
    });
    let failure = found.unwrap_err();
    let replay = failure.replay().unwrap();
    assert!(
        replay.ends_with("lost") || replay.ends_with("paused"),
        "{failure}"
    );
}

#[test]
fn limits_end_the_test_early() {
    let body = async |chaos: Chaos| {
        chaos
            .clients(2, async |locks| locks.lock("k").acquire().await.is_ok())
            .await;
    };
    let summary = patient().max_runs(7).check(body).unwrap();
    assert!(summary.runs == 7 && !summary.is_exhaustive(), "{summary:?}");
    let summary = patient().time_limit(Duration::ZERO).check(body).unwrap();
    assert!(summary.runs == 1 && summary.cases > 6, "{summary:?}");
}

#[test]
fn seed_selects_the_faults_if_there_are_too_many() {
    assert_eq!(seen(4), seen(4));
    let first_fault = |seed| {
        let test = patient().seed(seed);
        let failure = test.check(async |chaos: Chaos| {
            let clients = chaos.clients(2, async |locks| locks.lock("k").acquire().await.is_ok());
            clients.await;
            assert!(chaos.is_calm());
        });
        let replay = failure.unwrap_err().replay().unwrap();
        let (of_seed, case) = replay.split_once('/').unwrap();
        assert_eq!(of_seed, seed.to_string());
        case.to_owned()
    };
    assert_eq!(first_fault(1), first_fault(1));
    let faults: BTreeSet<_> = (0..8).map(first_fault).collect();
    assert!(faults.len() > 4, "{faults:?}");
}

#[test]
fn body_that_does_not_end_is_reported() {
    let failure = patient().check(async |chaos: Chaos| {
        let _kept = chaos.locks().lock("k").acquire().await;
        chaos
            .client(async |locks| locks.lock("k").acquire().await.is_ok())
            .await;
    });
    let failure = failure.unwrap_err();
    assert_eq!(failure.replay().unwrap(), "0/calm");
    assert!(
        failure.reason().contains("did not end within an hour"),
        "{failure}"
    );
}

#[test]
fn clock_does_not_advance_during_outside_work() {
    let body = async |chaos: Chaos| {
        let begin = Instant::now();
        let (done, is_done) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            done.send(())
        });
        let outside = chaos.outside(is_done);
        let limited = tokio::time::timeout(Duration::from_secs(1), outside).await;
        assert!(limited.is_ok() && begin.elapsed().is_zero());
        sleep(Duration::from_secs(1)).await;
    };
    patient().check(body).unwrap();
}

#[test]
fn call_in_a_runtime_is_a_failure() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let failure = runtime.block_on(async { patient().check(async |_| ()).unwrap_err() });
    assert!(failure.reason().contains("runtime"), "{failure}");
}

#[cfg(feature = "macros")]
mod attribute {
    use leasehold::distributed_lock;

    use super::*;

    #[distributed_lock("report")]
    async fn report(written: &Cell<u32>) -> Result<(), Error> {
        sleep(LONG).await;
        written.set(written.get() + 1);
        Ok(())
    }

    /// Two clients share no manager, so the lock is what separates them.
    #[leasehold::chaos_test(seed = 3, max_runs = 500, time_limit = "20s")]
    async fn annotated_functions_use_the_manager_of_their_client(chaos: Chaos) {
        let (written, begin) = (Cell::new(0), Instant::now());
        let ends = chaos
            .clients(2, async |_locks| report(&written).await)
            .await;
        let reported = ends.iter().flatten().filter(|end| end.is_ok()).count();
        assert!(written.get() as usize >= reported);
        assert!(!chaos.is_calm() || begin.elapsed() >= 2 * LONG);
        assert_eq!(chaos.seed(), 3);
    }

    #[leasehold::chaos_test]
    #[should_panic(expected = "fault:  none")]
    async fn failure_of_the_attribute_is_a_panic_with_the_report(chaos: Chaos) {
        assert!(!chaos.is_calm(), "the body fails");
    }
}

/// Runs one test of this binary with a value of the environment variable.
fn replayed(test: &str, run: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    let output = command.env("LEASEHOLD_CHAOS", run).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn environment_variable_that_names_no_run_is_reported_with_a_remedy() {
    for text in ["await3", "0/9.await3.paused", "x/1.await1.paused"] {
        let output = replayed("chaos::work_with_run_passes_each_case", text);
        let message = format!("LEASEHOLD_CHAOS={text} does not name a run of this test");
        assert!(output.contains(&message), "{output}");
        assert!(output.contains("such as 0/1.await3.paused"), "{output}");
    }
}

#[test]
fn replay_of_a_run_that_passes_prints_its_history() {
    let output = replayed("chaos::work_with_run_passes_each_case", "0/2.request1.late");
    assert!(output.contains("chaos: the run passes"), "{output}");
    assert!(
        output.contains("client 2 FAULT: the reply is late"),
        "{output}"
    );
}

#[tokio::test(start_paused = true)]
async fn simulated_loss_of_a_key_ends_the_locks_of_this_manager_on_this_key() {
    let locks = LockManager::in_process();
    let one = locks.rw_lock("k").read().acquire().await.unwrap();
    let other = locks
        .rw_lock("k")
        .read()
        .without_renewal()
        .acquire()
        .await
        .unwrap();
    let elsewhere = locks.lock("k2").acquire().await.unwrap();
    let others = LockManager::in_process();
    let of_others = others.lock("k").acquire().await.unwrap();
    assert!(locks.clone().simulate_loss("k"));
    assert!(!one.is_valid() && !other.is_valid());
    assert!(elsewhere.is_valid() && of_others.is_valid());
    assert_eq!(one.ended().await.reason, EndReason::Expired);
    assert!(!locks.simulate_loss("k"), "nothing is held");
    drop((one, other));
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}
