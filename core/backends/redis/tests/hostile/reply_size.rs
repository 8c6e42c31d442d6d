//! Replies that exceed the size limits of a client.

use std::env;
use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

use leasehold::backend::redis::{Redis, ReplyTooLarge};
use leasehold::backend::{Applied, BackendError, ConnectError};
use leasehold::{FenceStore, FencingToken, LockManager, RedisFenceStore};
use tokio::time::timeout;

use crate::endless::Endless;
use crate::most_memory_kib;

/// The maximum growth of memory: four times the accepted size. A buffer that grows is copied, and on a busy machine the
/// buffer of the last connection is still there while the next one fills. A reply without a limit has gigabytes.
const LOCKS_KIB: u64 = 4 * 16 * 1024;
const FENCES_KIB: u64 = 4 * 64 * 1024;

/// The timeout of a request for a lock.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Is set in the process that runs the measured test.
const MEASURED: &str = "LEASEHOLD_MEASURED";

/// The beginning of a reply, and the text that follows it without end.
const REPLIES: [(&str, &str); 14] = [
    ("$2147483648\r\n", "x"),
    ("$9223372036854775807\r\n", "x"),
    ("=2147483648\r\n", "x"),
    ("!2147483648\r\n", "x"),
    ("=-1\r\n", "x"),
    ("*2147483648\r\n", ":1\r\n"),
    ("~2147483648\r\n", ":1\r\n"),
    ("%2147483648\r\n", ":1\r\n"),
    ("|2147483648\r\n", ":1\r\n"),
    (">2147483648\r\n+message\r\n", ":1\r\n"),
    ("", "*1000000\r\n"),
    ("+", "x"),
    ("-ERR ", "x"),
    ("$", "1"),
];

fn is_too_large(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    if let Some(leasehold::Error::Connect(ConnectError::Server { source, .. })) =
        error.downcast_ref()
    {
        cause = Some(source);
    }
    while let Some(error) = cause {
        if error.is::<ReplyTooLarge>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Runs the named test in another process, which fails if it allocates much more than the limit. Returns whether this
/// is that process.
fn is_to_be_measured(name: &str) -> bool {
    if env::var_os(MEASURED).is_some() {
        return true;
    }
    let mut itself = Command::new("sh");
    itself.args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""]);
    itself
        .arg(env::current_exe().unwrap())
        .args(["--exact", name]);
    let told = itself.env(MEASURED, "1").output().unwrap();
    let said = [told.stdout, told.stderr].concat();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&said));
    false
}

#[tokio::test]
async fn a_reply_that_is_too_large_ends_the_connection_and_takes_no_memory() {
    if !is_to_be_measured(
        "reply_size::a_reply_that_is_too_large_ends_the_connection_and_takes_no_memory",
    ) {
        return;
    }
    let before = most_memory_kib();
    for (first, again) in REPLIES {
        for from in ["HELLO", "SCRIPT", "INFO", "TIME", "EVALSHA"] {
            let server = Endless::start(from, first.as_bytes(), again.as_bytes());
            let begun = Instant::now();
            let asked = timeout(Duration::from_secs(120), ask(&server.url())).await;
            let asked = asked.unwrap_or_else(|_| panic!("{from} hangs on {first:?}"));
            let error = asked.unwrap_err();
            let took = begun.elapsed();
            // The size ends it, and not a timeout.
            assert!(took < TIMEOUT / 2, "{took:?}: {first:?} to {from}");
            // For an invalid value, the error comes from the `redis` crate.
            let is_told = is_too_large(&*error) || first == "=-1\r\n";
            assert!(is_told, "{error:?}: {first:?} to {from}");
            // While connecting, no request for a lock was sent.
            if let Some(leasehold::Error::Connect(ConnectError::Server { source, .. })) =
                error.downcast_ref()
            {
                assert_eq!(BackendError::applied(source), Applied::No, "{error:?}");
            }
        }
    }
    let taken = most_memory_kib() - before;
    assert!(taken < LOCKS_KIB, "{taken} KiB");
}

async fn ask(url: &str) -> Result<(), Box<dyn Error>> {
    let redis = Redis::connect(url).await?;
    let builder = LockManager::builder()
        .command_timeout(TIMEOUT)
        .backend_retry_timeout(Duration::ZERO);
    builder.build(redis)?.lock("k").try_acquire().await?;
    Ok(())
}

#[tokio::test]
async fn a_too_large_reply_to_a_fence_store_is_an_error_and_takes_no_memory() {
    if !is_to_be_measured(
        "reply_size::a_too_large_reply_to_a_fence_store_is_an_error_and_takes_no_memory",
    ) {
        return;
    }
    let before = most_memory_kib();
    for (first, again) in REPLIES {
        for from in ["CLIENT", "EVALSHA"] {
            let server = Endless::start(from, first.as_bytes(), again.as_bytes());
            let asked = timeout(Duration::from_secs(120), admit(&server.url())).await;
            let asked = asked.unwrap_or_else(|_| panic!("{from} hangs on {first:?}"));
            let error = asked.unwrap_err();
            let is_told = is_too_large(&*error) || first == "=-1\r\n";
            assert!(is_told, "{error:?}: {first:?} to {from}");
        }
    }
    let taken = most_memory_kib() - before;
    assert!(taken < FENCES_KIB, "{taken} KiB");
}

async fn admit(url: &str) -> Result<(), Box<dyn Error>> {
    let store = RedisFenceStore::connect(url).await?;
    store.admit("r", FencingToken::try_from(7)?).await?;
    Ok(())
}
