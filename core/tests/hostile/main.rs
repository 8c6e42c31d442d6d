//! A server that sends any reply must not cause a panic, a hang or unbounded memory. The environment variable
//! `LEASEHOLD_FUZZ_SECONDS` sets the duration of the test.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod answers;
mod caller;
mod endless;
mod flood;
#[cfg(feature = "cluster")]
mod moved;
mod reply_size;
mod server;

use std::env;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leasehold::backend::BackendError;
use leasehold::backend::redis::Redis;
#[cfg(feature = "redlock")]
use leasehold::backend::redlock::Redlock;
use leasehold::{ConnectError, Error};
use tokio::time::timeout;

use self::answers::Answers;
use self::server::Hostile;

/// The default duration of the test. The environment variable `LEASEHOLD_FUZZ_SECONDS` overrides it.
const SECONDS: u64 = 2;

/// The number of concurrent clients.
const CALLERS: u64 = 8;

/// The maximum growth of memory for all clients. The longest reply has 64 KiB.
const MEMORY_KIB: u64 = 256 * 1024;

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_server_answers_every_call_ends_and_nothing_panics() {
    let seconds = env::var("LEASEHOLD_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(SECONDS);
    let end = Instant::now() + Duration::from_secs(seconds);
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        shown(info);
    }));
    let before = most_memory_kib();
    let callers = (0..CALLERS).map(|seed| {
        tokio::spawn(async move {
            let mut tried = caller::Tried::default();
            let mut round = seed;
            while Instant::now() < end {
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
        // The test is only useful if some replies are accepted.
        assert!(
            tried.connected > 0 && tried.granted > 0 && tried.failed > 0,
            "{tried:?}"
        );
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "something panicked");
    let taken = most_memory_kib() - before;
    assert!(taken < MEMORY_KIB, "{taken} KiB");
}

#[tokio::test]
async fn a_server_that_falls_silent_after_its_greeting_keeps_no_caller_for_ever() {
    let hostile = Hostile::with(Answers::silent()).await;
    let url = hostile.url();
    let connected = timeout(Duration::from_secs(30), Redis::connect(&url)).await;
    let refused = connected.expect("connecting hangs").unwrap_err();
    let Error::Connect(ConnectError::Server { source, address }) = refused else {
        panic!("{refused:?}");
    };
    assert!(url.ends_with(&address), "{address}");
    assert!(BackendError::is_temporary(&source), "{source}");
    let told = "the server did not reply within 5s";
    assert!(source.to_string().contains(told), "{source}");
}

#[cfg(feature = "redlock")]
#[tokio::test]
async fn a_node_that_is_too_old_is_not_taken_for_one_that_votes_later() {
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
