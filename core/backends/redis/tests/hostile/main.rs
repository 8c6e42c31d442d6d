//! A server that sends any reply must not cause a panic, a hang or unbounded memory.
//!
//! These tests have their own process, because they count its panics and measure its memory.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod caller;
mod endless;
mod flood;
mod redirections;
mod replies;
mod reply_size;
mod server;

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leasehold::backend::BackendError;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::{ConnectError, Error};
use leasehold_testkit::depth;
use tokio::time::timeout;

use self::replies::Answers;
use self::server::Hostile;

/// The duration of the test in `cargo test`, in seconds.
const SECONDS: u64 = 2;

/// The longest time until some replies are accepted, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of concurrent clients.
const CALLERS: u64 = 8;

/// The maximum growth of memory for all clients. The longest reply has 64 KiB.
const MEMORY_KIB: u64 = 256 * 1024;

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread")]
async fn random_replies_never_cause_a_hang_a_panic_or_unbounded_memory() {
    let end = Instant::now() + depth::seconds(SECONDS);
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        shown(info);
    }));
    let before = most_memory_kib();
    let callers = (0..CALLERS).map(|caller| {
        tokio::spawn(async move {
            let mut tried = caller::Tried::default();
            let mut round = depth::seed() * CALLERS + caller;
            // The test is only useful if some replies are accepted, which takes longer on a busy machine.
            let begun = Instant::now();
            while Instant::now() < end || (!tried.is_useful() && begun.elapsed() < PATIENCE) {
                let hostile = Hostile::start(round).await;
                caller::try_everything(&hostile.url(), round, &mut tried).await;
                round += CALLERS;
            }
            tried
        })
    });
    let callers: Vec<_> = callers.collect();
    for caller in callers {
        let tried = caller.await.unwrap();
        assert!(tried.is_useful(), "{tried:?}");
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "something panicked");
    let taken = most_memory_kib() - before;
    assert!(taken < MEMORY_KIB, "{taken} KiB");
}

#[tokio::test]
async fn connecting_to_a_server_that_stops_responding_times_out() {
    let hostile = Hostile::with(Answers::silent()).await;
    let url = hostile.url();
    let connected = timeout(Duration::from_secs(60), Redis::connect(&url)).await;
    let refused = connected.expect("connecting hangs").unwrap_err();
    let Error::Connect(ConnectError::Server { source, address }) = refused else {
        panic!("{refused:?}");
    };
    assert!(url.ends_with(&address), "{address}");
    assert!(BackendError::is_temporary(&source), "{source}");
    let told = "the server did not reply within 5s";
    assert!(source.to_string().contains(told), "{source}");
}

#[tokio::test]
async fn redlock_refuses_a_node_with_too_old_a_server_version() {
    let hostile = Hostile::with(Answers::old()).await;
    let refused = Redlock::new([hostile.url()]).connect().await.unwrap_err();
    assert!(
        matches!(&refused, Error::Connect(ConnectError::TooOld { version, .. }) if version == "5.0.14"),
        "{refused:?}"
    );
}

/// Returns the peak memory of this process in KiB.
fn most_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap()
}
