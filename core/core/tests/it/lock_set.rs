//! Several keys as one lock.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{EndReason, Error, InvalidOption, LockManager, Lost, MAX_KEYS};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tokio::runtime::Builder;
use tokio::time::{Instant, advance, sleep};

const SECOND: Duration = Duration::from_secs(1);
const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// Waits longer than any background work after a drop.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

/// Returns the holder of each key: a letter, or a dot if it is free, followed by its waiters.
async fn seen(locks: &LockManager) -> String {
    let mut seen = String::new();
    for key in KEYS {
        let state = locks.inspect(key).await.unwrap();
        seen.push_str(if state.token.is_some() { key } else { "." });
        seen.push_str(&"+".repeat(state.waiting));
    }
    seen
}

type Log = Arc<Mutex<Vec<Command>>>;

/// Returns a manager with a slow backend, and a log of the commands.
fn logged(fault: Fault) -> (LockManager, Log) {
    let log = Log::default();
    let writer = Arc::clone(&log);
    let backend = Faulty::new(InProcess::new(), move |call| {
        writer.lock().unwrap().push(call.command);
        fault
    });
    (LockManager::new(backend), log)
}

#[tokio::test(start_paused = true)]
async fn a_set_locks_each_key_once_in_the_order_of_names() {
    let locks = LockManager::in_process();
    let guard = locks
        .lock_all(["c", "a", "c", "b"])
        .acquire()
        .await
        .unwrap();
    assert_eq!(guard.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(seen(&locks).await, "abc.");
    for handle in guard.handle().handles() {
        let inspected = locks.inspect(handle.key()).await.unwrap();
        assert_eq!(inspected.token, guard.token(handle.key()));
        assert_eq!(guard.token(handle.key()), Some(handle.token()));
    }
    assert_eq!(guard.token("d"), None);
    assert!(guard.is_valid() && guard.valid_for() > SECOND * 29);
    guard.release().await.unwrap();
    assert_eq!(seen(&locks).await, "....");
}

#[tokio::test(start_paused = true)]
async fn a_set_of_free_locks_needs_one_round_trip() {
    let (locks, log) = logged(Fault::SlowAnswer(SECOND));
    let started = Instant::now();
    let guard = locks.lock_all(KEYS).acquire().await.unwrap();
    assert_eq!(started.elapsed(), SECOND);
    assert_eq!(*log.lock().unwrap(), [Command::Attempt; 4]);
    guard.release().await.unwrap();
    assert_eq!(started.elapsed(), SECOND * 2, "so does the release");
}

#[tokio::test(start_paused = true)]
async fn invalid_sets_are_refused_with_the_remedy_before_any_request() {
    let (locks, log) = logged(Fault::None);
    let told = async |keys: &[String]| {
        let refused = locks.lock_all(keys).acquire().await;
        refused.unwrap_err().to_string()
    };
    let numbered = |count: usize| (0..count).map(|n| format!("k{n}")).collect::<Vec<_>>();
    assert_eq!(told(&[]).await, "a lock set needs at least one key");
    let mut many = numbered(MAX_KEYS + 1);
    assert_eq!(
        told(&many).await,
        "a lock set of 65 keys is too large; give at most 64"
    );
    many[MAX_KEYS] = "x}".to_owned();
    assert!(told(&many).await.contains("`lock:x}` cannot name a lock"));
    let ttl = locks.lock_all(["a"]).ttl(Duration::ZERO).acquire().await;
    let too_short = |error| matches!(error, Error::Option(InvalidOption::TooShort { .. }));
    assert!(ttl.is_err_and(too_short));
    assert_eq!(log.lock().unwrap().len(), 0);
    many[MAX_KEYS] = "k1".to_owned();
    assert!(
        locks.lock_all(&many).acquire().await.is_ok(),
        "one is there twice"
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiting_set_keeps_smaller_keys_and_releases_larger_ones() {
    let locks = LockManager::in_process();
    let busy = locks.lock("c").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock_all(["d", "c", "b", "a"]).acquire());
    settle().await;
    assert_eq!(seen(&locks).await, "abc+.");
    busy.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert_eq!(seen(&locks).await, "abcd");
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_set_releases_larger_keys_before_its_next_attempt() {
    let (locks, log) = logged(Fault::None);
    let busy = locks.lock("b").acquire().await.unwrap();
    log.lock().unwrap().clear();
    let acquire = locks.lock_all(KEYS).wait(SECOND).acquire().await;
    assert!(matches!(acquire, Err(Error::TimedOut { .. })));
    use Command::{Attempt, Release, Wait};
    let expected = [
        Attempt, Attempt, Attempt, Attempt, // all concurrently
        Release, Release, // c and d
        Attempt, Wait, // for b
    ];
    let log = log.lock().unwrap().clone();
    assert_eq!(log[..expected.len()], expected);
    let of_a = log[expected.len()..].iter().filter(|c| **c == Release);
    assert_eq!(of_a.count(), 1);
    drop(busy);
}

#[tokio::test(start_paused = true)]
async fn the_wait_covers_all_keys_and_a_timed_out_set_holds_nothing() {
    let locks = LockManager::in_process();
    let (a, c) = (
        locks.lock("a").acquire().await,
        locks.lock("c").acquire().await,
    );
    let (a, c) = (a.unwrap(), c.unwrap());
    tokio::spawn(async move {
        sleep(SECOND).await;
        a.release().await.unwrap();
    });
    let started = Instant::now();
    let set = locks.lock_all(KEYS).wait(SECOND * 3);
    let Err(Error::TimedOut { key, waited, .. }) = set.clone().acquire().await else {
        panic!("c is busy");
    };
    assert_eq!(
        (key.name(), waited, started.elapsed()),
        ("c", SECOND * 3, SECOND * 3)
    );
    assert_eq!(seen(&locks).await.replace('+', ""), "..c.");
    assert!(set.clone().try_acquire().await.unwrap().is_none());
    assert!(set.clone().wait(Duration::ZERO).acquire().await.is_err());
    settle().await;
    assert_eq!(
        seen(&locks).await,
        "..c.",
        "who does not wait does not queue"
    );
    drop(c);
    settle().await;
    assert!(set.try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_backend_failure_is_not_reported_as_busy() {
    let mut attempts = 0;
    let backend = Faulty::new(InProcess::new(), move |call| {
        attempts += usize::from(call.command == Command::Attempt);
        match (call.command, attempts) {
            (Command::Attempt, 2) => Fault::Fail,
            _ => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    let failed = locks.lock_all(KEYS).try_acquire().await;
    let Err(Error::Backend { key, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(key.name(), "b");
    assert_eq!(seen(&locks).await, "....");
    assert!(locks.lock_all(KEYS).acquire().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_set_retries_temporary_failures() {
    let mut attempts = 0;
    let backend = Faulty::new(InProcess::new(), move |call| {
        attempts += usize::from(call.command == Command::Attempt);
        match (call.command, attempts) {
            (Command::Attempt, 2 | 3 | 5 | 6) => Fault::Fail,
            _ => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    assert!(locks.lock_all(KEYS).acquire().await.unwrap().is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_set_that_waited_retries_its_renewal_until_its_wait_is_over() {
    for (failures, passes) in [(3, true), (usize::MAX, false)] {
        let mut renewals = 0;
        let backend = Faulty::new(InProcess::new(), move |call| {
            renewals += usize::from(call.command == Command::Renew);
            match call.command {
                Command::Renew if renewals <= failures => Fault::Fail,
                _ => Fault::None,
            }
        });
        let locks = LockManager::new(backend);
        let busy = locks.lock("b").acquire().await.unwrap();
        let set = locks.lock_all(["a", "b"]).wait(SECOND * 2);
        let waiting = tokio::spawn(set.without_renewal().acquire());
        settle().await;
        busy.release().await.unwrap();
        let released = Instant::now();
        let answer = waiting.await.unwrap();
        match answer {
            Ok(guard) => assert!(passes && guard.valid_for() > SECOND * 29),
            Err(Error::Backend { .. }) => {
                assert!(!passes);
                let took = released.elapsed();
                assert!((SECOND..SECOND * 2).contains(&took), "{took:?}");
                assert_eq!(seen(&locks).await, "....");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_permanent_refusal_is_returned_before_a_wait_for_another_key() {
    let locks = LockManager::in_process();
    let a = locks.lock("a").acquire().await.unwrap();
    let c = locks.semaphore("c", 3).acquire().await.unwrap();
    let refused = locks.lock_all(KEYS).acquire().await;
    let Err(Error::OtherKind { key, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((key.name(), &*seen(&locks).await), ("c", "a.c."));
    drop((a, c));
}

fn loss<T: std::fmt::Debug>(answer: Result<T, Error>) -> Lost {
    match answer {
        Err(Error::Lost(lost)) => lost,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_one_lock_ends_the_whole_set() {
    let locks = LockManager::in_process();
    let guard = locks.lock_all(KEYS).acquire().await.unwrap();
    let handle = guard.handle();
    assert!(locks.force_release("b").await.unwrap());
    let (stopped, told) = tokio::join!(
        guard.run(async |_| std::future::pending::<Result<(), Error>>().await),
        handle.ended()
    );
    let lost = loss(stopped);
    assert_eq!((lost.key.name(), lost.reason), ("b", EndReason::Gone));
    assert_eq!(Lost::from(told), lost);
    assert!(!guard.is_valid() && !handle.is_valid() && guard.valid_for().is_zero());
    assert!(handle.handles()[0].is_valid(), "each tells of itself");
    assert_eq!(seen(&locks).await, "a.cd");
    let again = guard
        .run(async |_| -> Result<(), Error> { panic!("not one more step") })
        .await;
    assert_eq!(loss(again), lost);
    let Err(Error::LockSetRelease(released)) = guard.release().await else {
        panic!("it was lost")
    };
    assert_eq!((released.lost, released.unconfirmed.len()), (vec![lost], 0));
    assert_eq!(seen(&locks).await, "....");
}

#[tokio::test(start_paused = true)]
async fn after_a_pause_past_the_deadline_the_body_is_not_polled_again() {
    let locks = LockManager::in_process();
    let set = locks.lock_all(KEYS).ttl(SECOND).without_renewal();
    let guard = set.acquire().await.unwrap();
    let mut steps = 0;
    let body = poll_fn(|_| {
        steps += 1;
        Poll::<Result<(), Error>>::Pending
    });
    let mut run = Box::pin(guard.run(async |_| body.await));
    assert!(poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_pending())).await);
    advance(SECOND).await;
    let lost = loss(run.await);
    assert_eq!((lost.reason, steps), (EndReason::Expired, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lock_lost_while_the_set_waits_is_acquired_again() {
    let locks = LockManager::in_process();
    let busy = locks.lock("b").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock_all(["a", "b"]).acquire());
    settle().await;
    let first = locks.inspect("a").await.unwrap().token.unwrap();
    assert!(locks.force_release("a").await.unwrap());
    let thief = locks.lock("a").acquire().await.unwrap();
    // Longer than the time until the next renewal, which reports the loss.
    sleep(SECOND * 11).await;
    assert_eq!(
        seen(&locks).await,
        "a+b..",
        "it waits for the smaller one now"
    );
    thief.release().await.unwrap();
    busy.release().await.unwrap();
    let guard = waiting.await.unwrap().unwrap();
    assert!(guard.is_valid() && guard.token("a").unwrap() > first);
}

#[tokio::test(start_paused = true)]
async fn the_hold_time_of_a_set_begins_when_all_locks_are_held() {
    let locks = LockManager::in_process();
    let set = locks.lock_all(["a", "b"]).ttl(SECOND * 3);
    let usable = SECOND * 3 * 99 / 100 - Duration::from_millis(2);
    for (bounded, reason, length) in [
        (
            set.clone().max_hold(SECOND * 3),
            EndReason::MaxHold,
            SECOND * 3,
        ),
        (set.without_renewal(), EndReason::Expired, usable),
    ] {
        let busy = locks.lock("b").acquire().await.unwrap();
        let waiting = tokio::spawn(bounded.acquire());
        settle().await;
        let first = locks.inspect("a").await.unwrap().token;
        sleep(SECOND * 20).await;
        busy.release().await.unwrap();
        let guard = waiting.await.unwrap().unwrap();
        assert_eq!(guard.token("a"), first, "kept all the time");
        let begin = Instant::now();
        assert_eq!(guard.ended().await.reason, reason);
        assert_eq!(begin.elapsed(), length, "{reason:?}");
    }
}

/// Returns how many locks have ended at `max_hold` since the last call.
fn ended_at_max_hold(snapshots: &Snapshotter) -> u64 {
    let metrics = snapshots.snapshot().into_vec().into_iter();
    metrics
        .filter(|(key, ..)| key.key().labels().any(|it| it.value() == "max_hold"))
        .map(|(.., value)| match value {
            DebugValue::Counter(count) => count,
            other => panic!("{other:?}"),
        })
        .sum()
}

#[test]
fn the_end_at_max_hold_is_counted_in_time_without_a_watcher() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let locks = LockManager::in_process();
            let set = locks.lock_all(["a", "b"]).max_hold(SECOND);
            let _guard = set.acquire().await.unwrap();
            sleep(SECOND * 9 / 10).await;
            assert_eq!(ended_at_max_hold(&snapshots), 0);
            sleep(SECOND / 5).await;
            assert_eq!(ended_at_max_hold(&snapshots), 2);
        });
    });
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_and_a_manual_renewal_renew_all_locks_of_a_set() {
    let locks = LockManager::in_process();
    let set = locks.lock_all(KEYS).ttl(SECOND);
    let watched = set.clone().acquire().await.unwrap();
    sleep(SECOND * 20).await;
    assert!(watched.is_valid());
    watched.release().await.unwrap();
    let by_hand = set.without_renewal().acquire().await.unwrap();
    advance(SECOND / 2).await;
    by_hand.renew().await.unwrap();
    assert!(by_hand.valid_for() > SECOND * 9 / 10);
    assert!(by_hand.simulate_loss("c") && !by_hand.simulate_loss("x"));
    assert!(by_hand.renew().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn acquiring_a_set_with_a_held_key_returns_already_held() {
    let locks = LockManager::in_process();
    let held_is = |answer: Result<_, Error>, name: &str| match answer {
        Err(Error::AlreadyHeld { key }) => assert_eq!(key.name(), name),
        other => panic!("{other:?}"),
    };
    let single = locks.lock("b").acquire().await.unwrap();
    let set = single.handle().scope(locks.lock_all(KEYS).acquire()).await;
    held_is(set.map(drop), "b");
    single.release().await.unwrap();
    let guard = locks.lock_all(KEYS).acquire().await.unwrap();
    for key in KEYS {
        let nested = guard.handle().scope(locks.lock(key).acquire()).await;
        held_is(nested.map(drop), key);
    }
    let other = guard.handle().scope(locks.lock("x").acquire()).await;
    assert!(other.is_ok());
    let own = guard
        .handle()
        .scope(locks.lock_all(KEYS).try_acquire())
        .await;
    assert!(own.unwrap().is_none(), "a lock of one's own is busy");
    guard.release().await.unwrap();
    let scope = leasehold::ReentrancyScope::new();
    let reentrant = locks.lock("c").reentrant(&scope).acquire().await.unwrap();
    held_is(
        scope.enter(locks.lock_all(KEYS).acquire()).await.map(drop),
        "c",
    );
    drop(reentrant);
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_release_is_reported_per_key_and_continues() {
    let world = InProcess::new();
    let mut releases = 0;
    let backend = Faulty::new(world.clone(), move |call| {
        releases += usize::from(call.command == Command::Release);
        match (call.command, releases) {
            (Command::Release, 2) => Fault::HangBefore,
            _ => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    let guard = locks.lock_all(KEYS).acquire().await.unwrap();
    assert!(guard.simulate_loss("d"));
    let error = guard.release().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "releasing a lock set: 1 locks were lost, and 1 releases are not confirmed yet; they continue in the background"
    );
    let Error::LockSetRelease(error) = error else {
        panic!("{error:?}")
    };
    let unconfirmed: Vec<_> = error.unconfirmed.iter().map(|e| e.key.name()).collect();
    assert_eq!(unconfirmed, ["b"]);
    assert_eq!(error.lost.len(), 1);
    settle().await;
    assert_eq!(seen(&LockManager::new(world)).await, "....");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_held_and_waiting_sets() {
    let world = InProcess::new();
    let (locks, other) = (LockManager::new(world.clone()), LockManager::new(world));
    let guard = locks.lock_all(["x", "y"]).acquire().await.unwrap();
    let busy = other.lock("c").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock_all(KEYS).acquire());
    settle().await;
    locks.shutdown().await.unwrap();
    assert_eq!(guard.ended().await.reason, EndReason::Shutdown);
    let told = waiting.await.unwrap();
    assert!(matches!(told, Err(Error::Closed { .. })));
    assert_eq!(seen(&other).await, "..c.");
    drop(busy);
}

#[test]
fn concurrent_sets_never_deadlock() {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let locks = LockManager::in_process();
        let tasks = (0..16_u64).map(|seed| {
            let locks = locks.clone();
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..200 {
                    let count = random.usize(2..=3);
                    let keys = random.choose_multiple(KEYS, count);
                    let guard = locks.lock_all(keys).acquire().await.unwrap();
                    sleep(Duration::from_millis(random.u64(..3))).await;
                    guard.release().await.unwrap();
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(seen(&locks).await, "....");
    });
}

/// Polls `operation` until it has returned `Pending` `points` times, then drops it. Returns `false` if it completed
/// before.
async fn dropped_after(points: usize, operation: impl Future<Output = ()>) -> bool {
    let mut operation = pin!(operation);
    let mut pending = 0;
    poll_fn(|cx| {
        if pending == points {
            return Poll::Ready(true);
        }
        pending += 1;
        operation.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// The circumstances of an acquire that is dropped at some point.
#[derive(Debug, Clone, Copy)]
struct Way {
    busy: Option<&'static str>,
    command: Command,
    fault: Fault,
}

async fn leaves_nothing(way: Way, points: usize) -> bool {
    let world = InProcess::new();
    let other = LockManager::new(world.clone());
    let mut calls = 0;
    let backend = Faulty::new(world, move |call| {
        calls += usize::from(call.command == way.command);
        // The fault affects the second call, because the first one must then be undone.
        match call.command == way.command && calls == 2 {
            true => way.fault,
            false => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    if let Some(key) = way.busy {
        let busy = other.lock(key).acquire().await.unwrap();
        tokio::spawn(async move {
            sleep(SECOND / 2).await;
            busy.release().await.unwrap();
        });
    }
    let dropped = dropped_after(points, async {
        if let Ok(guard) = locks.lock_all(KEYS).acquire().await {
            drop(guard.release().await);
        }
    });
    let dropped = dropped.await;
    // One command timeout and the pauses between retries, which is much shorter than the lease.
    sleep(SECOND * 5).await;
    assert_eq!(seen(&other).await, "....", "{way:?}, dropped at {points}");
    dropped
}

#[test]
fn an_acquire_dropped_at_any_await_point_leaves_all_locks_free() {
    let slow = Duration::from_millis(700);
    let faults = [
        Fault::None,
        Fault::SlowRequest(slow),
        Fault::SlowAnswer(slow),
        Fault::LoseAnswer,
        Fault::Fail,
        Fault::HangBefore,
        Fault::HangAfter,
        Fault::Panic,
    ];
    let mut drops = 0;
    for busy in [None, Some("a"), Some("c"), Some("d")] {
        for command in [Command::Attempt, Command::Release, Command::Cleanup] {
            for fault in faults {
                let way = Way {
                    busy,
                    command,
                    fault,
                };
                for points in 0.. {
                    let mut runtime = Builder::new_current_thread();
                    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
                    if !runtime.block_on(leaves_nothing(way, points)) {
                        break;
                    }
                    drops += 1;
                    assert!(points < 100, "{way:?} never completes");
                }
            }
        }
    }
    println!("dropped at {drops} points");
    assert!(drops > 200);
}
