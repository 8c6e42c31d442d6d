//! Runs a body once: under a lock, unless a recorded result exists.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Lock;
use super::run_guard::{RunGuard, release_after};
use super::self_deadlock::check_self_deadlock;
use crate::backend::{Mode, Outcome};
use crate::engine::{AcquireRequest, BusyPolicy, HoldRef, NotAcquired, bounded};
use crate::error::OnceError;
use crate::options::{DEFAULT_RETENTION, MAX_RESULT_BYTES, MAX_RETENTION};
use crate::{Error, InvalidOption, Key, LockGuard, LockHandle, LockOptions, LostInBody, Operation};

/// How long a failure is shared by default.
const DEFAULT_KEEP_FAILURE: Duration = Duration::from_secs(1);

/// The shortest retention time.
const LEAST_RETENTION: Duration = Duration::from_millis(1);

/// The longest text of a failure that other callers receive, in characters.
const MAX_MESSAGE: usize = 4096;

/// A body that runs once per key. [`LockManager::once`](crate::LockManager::once) returns a `Once`.
///
/// The first caller runs its body under the lock on the key. The backend then keeps the result for the
/// [retention time](Self::keep), and releases the lock in the same step. Callers that were waiting, and all later
/// callers, receive the result and run nothing.
///
/// If a body fails, the waiters stop waiting and receive [`OnceError::Failed`]. So a source that is down is not asked
/// again by every waiter. When [`keep_failure`](Self::keep_failure) has elapsed, the next caller runs its body.
///
/// # What is guaranteed
///
/// The backend accepts *one result* for each retention time, and a body can run *more than once* before that. If a
/// holder crashes, loses its lock or is cancelled, the next caller runs its own body, under a larger token. The backend
/// refuses the result of a holder that no longer holds the lock. Work that the first holder began may still be in
/// progress at that time. So let the resource compare the [token](LockHandle::token), or make the effect idempotent.
///
/// A backend that loses its data also loses results, for example a Redis server without persistence that restarts.
/// A server that evicts keys with a TTL loses results, too. Redis and the in-process backend support `once`; other
/// backends return [`Error::Unsupported`]. The backend stores results and texts of errors as plain JSON, so do not record
/// secrets.
///
/// A recorded result is not a lock: [`inspect`](crate::LockManager::inspect) does not show it, and
/// [`force_release`](crate::LockManager::force_release) keeps it.
///
/// # Examples
///
/// A cache that one process fills:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::LockManager;
///
/// let locks = LockManager::in_process();
/// let price = async |asked: u64| {
///     let minute = Duration::from_secs(60);
///     locks.once("price:42").keep(minute).run(async |_| Ok::<u64, leasehold::Error>(asked)).await
/// };
/// assert_eq!(price(100).await?, 100);
/// assert_eq!(price(200).await?, 100); // the recorded result
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing runs until `run` is awaited"]
pub struct Once {
    lock: Lock,
    keep: Duration,
    keep_failure: Duration,
}

impl Once {
    pub(crate) const fn new(lock: Lock) -> Self {
        Self {
            lock,
            keep: DEFAULT_RETENTION,
            keep_failure: DEFAULT_KEEP_FAILURE,
        }
    }

    /// Sets how long the result is kept, from the end of the body: 24 h by default, at least 1 ms, and at most
    /// [`MAX_RETENTION`]. The caller whose body ran decides.
    pub const fn keep(mut self, retention: Duration) -> Self {
        self.keep = retention;
        self
    }

    /// Sets how long other callers receive the failure of a body: 1 s by default, at most [`MAX_RETENTION`]. After this
    /// time the next caller runs its body. With less than 1 ms, a failure is not shared, and the first waiter runs its
    /// body immediately. The caller whose body failed decides.
    pub const fn keep_failure(mut self, retention: Duration) -> Self {
        self.keep_failure = retention;
        self
    }

    /// Sets the options that `options` contains, except `hold_at_least`, because the result is
    /// kept instead of the lock, and `report_holder`.
    pub fn options(mut self, options: &LockOptions) -> Self {
        self.lock = self.lock.options(options);
        self.lock.options.hold_at_least = None;
        self
    }

    /// Sets how long the lock stays taken after a crash of its holder: see [`Lock::ttl`].
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lock = self.lock.ttl(ttl);
        self
    }

    /// Sets how long to wait for the result of another caller: see [`Lock::wait`]. The default is the manager's `wait`,
    /// or no limit. With zero, [`run`](Self::run) returns [`Error::TimedOut`] while another caller runs its body.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.lock = self.lock.wait(wait);
        self
    }

    /// Sets the longest time that the body may take: see [`Lock::max_hold`].
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.lock = self.lock.max_hold(max_hold);
        self
    }

    /// Sets the name of the lock in metrics and spans: see [`Lock::name`].
    pub fn name(mut self, name: &'static str) -> Self {
        self.lock = self.lock.name(name);
        self
    }

    /// Returns the recorded result, or runs `body` under the lock and records its result.
    ///
    /// The result is kept as JSON. So `T` must read what it has written. For example, `serde_json` writes a NaN as
    /// `null`. If a deployment changes the type, use another key, such as `report:v2`.
    ///
    /// # Errors
    ///
    /// - The errors of [`Lock::acquire`], if `body` did not begin.
    /// - [`OnceError::Failed`]: the body of another caller failed.
    /// - [`OnceError::Decode`]: the recorded result is not a `T`.
    /// - The error of `body`. Its text, up to 4096 characters, is recorded for other callers. If the backend is down,
    ///   this takes up to the manager's backend retry timeout, and a failure to record the text is not reported.
    /// - [`Error::LostInBody`]: the lock was lost, or the result came too late. The result is not recorded.
    /// - [`OnceError::TooLarge`], [`OnceError::Encode`]: `body` completed, and its result cannot be recorded. Other
    ///   callers receive this as a failure.
    /// - [`Error::Backend`] with [`Operation::Record`]: `body` completed, and the backend did not confirm the record.
    ///   If you call `run` again, the body may run again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops `body` or the acquire, and the manager releases the lock in the background. Nothing is
    /// recorded, except if the future is dropped while the result is being sent.
    ///
    /// # Panics
    ///
    /// Panics if `body` panics, or if the tokio runtime was built without `enable_time`. If `body` panics, nothing is
    /// recorded, and the manager releases the lock in the background.
    pub async fn run<T, E>(self, body: impl AsyncFnOnce(LockHandle) -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<Error> + Display,
    {
        let Self {
            lock,
            keep,
            keep_failure,
        } = self;
        check_retention("keep", keep, LEAST_RETENTION).map_err(Error::from)?;
        check_retention("keep_failure", keep_failure, Duration::ZERO).map_err(Error::from)?;
        let key = lock.key.clone().map_err(|error| Error::from(*error))?;
        let guard = match acquire(lock).await {
            Ok(guard) => guard,
            Err(NotAcquired::Recorded { key, outcome }) => return Ok(decode(key, &outcome)?),
            Err(NotAcquired::Failed(error)) => return Err(error.into()),
        };
        let view = guard.handle();
        let output = match RunGuard::run(&guard, body(guard.handle())).await {
            Ok(output) => output,
            Err(lost) => return Err(Error::from(LostInBody::new(lost, false)).into()),
        };
        let encoded = output.and_then(|value| match encode(key, &value) {
            Ok(bytes) => Ok((value, bytes)),
            Err(error) => Err(Error::from(error).into()),
        });
        let (output, outcome, keep) = match encoded {
            Ok((value, bytes)) => (Ok(value), Outcome::new(view.token(), false, bytes), keep),
            Err(error) => {
                let outcome = Outcome::new(view.token(), true, message(&error));
                (Err(error), outcome, keep_failure)
            }
        };
        if keep < LEAST_RETENTION {
            return release_after(guard, output).await;
        }
        // The record is boxed, so that this future is hardly larger than the body's future.
        match (output, Box::pin(guard.record(&outcome, keep)).await) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(_), Err(Error::Lost(lost))) => Err(Error::from(LostInBody::new(lost, true)).into()),
            (Ok(_), Err(error)) => Err(error.into()),
            // The body's own error says more than a failure to share it.
            (Err(error), _) => Err(error),
        }
    }

    /// Deletes the recorded result or failure, so that the next caller runs its body. Returns false if none was
    /// recorded. A body that is running is not affected, and its result will be recorded.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Key`] for an invalid key, [`Error::Unsupported`] if the backend does not record results, and
    /// [`Error::Backend`] if the backend does not respond.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the backend may or may not have deleted the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// # let locks = leasehold::LockManager::in_process();
    /// let count = async |n| locks.once("count").run(async |_| Ok::<u32, leasehold::Error>(n)).await;
    /// assert_eq!(count(1).await?, 1);
    /// assert!(locks.once("count").forget().await?);
    /// assert_eq!(count(2).await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget(self) -> Result<bool, Error> {
        let (engine, key) = (self.lock.engine, self.lock.key.map_err(|error| *error)?);
        if !engine.backend().capabilities().once {
            return Err(unsupported(Operation::Forget, key));
        }
        let forgotten = bounded(engine.limits.command, engine.backend().forget(&key)).await;
        forgotten.map_err(|source| Error::backend(Operation::Forget, key, source))
    }
}

/// Acquires the lock, unless the backend keeps an outcome.
async fn acquire(lock: Lock) -> Result<LockGuard, NotAcquired> {
    let key = checked_key(&lock).map_err(NotAcquired::Failed)?;
    let Lock {
        engine, options, ..
    } = lock;
    let wanted = AcquireRequest {
        once: true,
        ..AcquireRequest::exclusively(key)
    };
    let busy_policy = BusyPolicy::of(&options, true);
    let hold = engine.acquire(&wanted, &options, busy_policy).await?;
    Ok(LockGuard::new(HoldRef::Whole(hold)))
}

/// Returns the key if the lock can be acquired for `once`.
fn checked_key(lock: &Lock) -> Result<Key, Error> {
    let key = lock.key.clone().map_err(|error| Error::from(*error))?;
    let can = lock.engine.backend().capabilities();
    if !can.once {
        return Err(unsupported(Operation::Acquire, key));
    }
    lock.options.validate(can.least_ttl, can.most_ttl)?;
    check_self_deadlock(Mode::Exclusive, &lock.engine, &key, None)?;
    Ok(key)
}

fn decode<T: DeserializeOwned>(key: Key, outcome: &Outcome) -> Result<T, Error> {
    let Outcome {
        token,
        failed,
        bytes,
    } = outcome;
    if *failed {
        return Err(Error::Once(OnceError::Failed {
            key,
            token: *token,
            message: String::from_utf8_lossy(bytes).into_owned(),
        }));
    }
    serde_json::from_slice(bytes)
        .map_err(|source| OnceError::Decode {
            key,
            source: source.into(),
        })
        .map_err(Error::from)
}

fn encode(key: Key, value: &impl Serialize) -> Result<Vec<u8>, OnceError> {
    match serde_json::to_vec(value) {
        Ok(bytes) if bytes.len() <= MAX_RESULT_BYTES => Ok(bytes),
        Ok(bytes) => Err(OnceError::TooLarge {
            key,
            size: bytes.len(),
        }),
        Err(source) => Err(OnceError::Encode {
            key,
            source: source.into(),
        }),
    }
}

/// Returns the text of an error, as far as a backend keeps it.
fn message(error: &impl Display) -> Vec<u8> {
    let text: String = error.to_string().chars().take(MAX_MESSAGE).collect();
    text.into_bytes()
}

fn check_retention(
    option: &'static str,
    value: Duration,
    least: Duration,
) -> Result<(), InvalidOption> {
    if value < least {
        return Err(InvalidOption::TooShort {
            option,
            value,
            least,
        });
    }
    if value > MAX_RETENTION {
        return Err(InvalidOption::TooLong {
            option,
            value,
            most: MAX_RETENTION,
        });
    }
    Ok(())
}

fn unsupported(operation: Operation, key: Key) -> Error {
    Error::Unsupported {
        operation,
        key,
        what: "recorded results",
    }
}
