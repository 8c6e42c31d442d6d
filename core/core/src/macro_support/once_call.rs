//! A call whose result is recorded.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

#[cfg(feature = "cron")]
use chrono::TimeZone;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::annotated_call::Call;
use super::return_value::LockedReturn;
use crate::{Error, LockHandle, Once};
#[cfg(feature = "cron")]
use crate::{InvalidSchedule, Schedule};

/// A call of a function that returns `R`, before its result is looked up.
#[must_use = "a call does nothing until it runs"]
pub struct OnceCall<R> {
    call: Call,
    keep: Duration,
    keep_failure: Option<Duration>,
    #[cfg(feature = "cron")]
    invalid: Option<InvalidSchedule>,
    returned: PhantomData<fn() -> R>,
}

impl Call {
    /// Keeps the result for `keep`: see [`LockManager::once`](crate::LockManager::once).
    pub fn once<R: OnceReturn>(self, keep: Duration) -> OnceCall<R> {
        OnceCall {
            call: self,
            keep,
            keep_failure: None,
            #[cfg(feature = "cron")]
            invalid: None,
            returned: PhantomData,
        }
    }
}

impl<R: OnceReturn> OnceCall<R> {
    /// Sets how long other callers receive a failure.
    pub fn keep_failure(mut self, keep_failure: Duration) -> Self {
        self.keep_failure = Some(keep_failure);
        self
    }

    /// Adds the slot of a schedule to the key. By default, a failure is not shared then: all instances call the function
    /// at the same time, so none would run the job after the failure of another.
    #[cfg(feature = "cron")]
    pub fn slot<Z: TimeZone>(mut self, schedule: &Schedule<Z>) -> Self {
        let key = self.call.key_mut();
        *key = format!("{key}:{}", schedule.slot());
        self.keep_failure.get_or_insert(Duration::ZERO);
        self
    }

    /// Adds the slot of a cron expression to the key. The attribute has checked the expression.
    #[cfg(feature = "cron")]
    pub fn slot_of(mut self, expression: &str) -> Self {
        match Schedule::cron(expression) {
            Ok(schedule) => self.slot(&schedule),
            Err(invalid) => {
                self.invalid = Some(invalid);
                self
            }
        }
    }

    /// Returns the recorded result, or runs `body` under the lock and records its result.
    pub async fn run(self, body: impl AsyncFnOnce(LockHandle) -> R) -> R {
        match self.prepare() {
            Ok(once) => R::run(once, body).await,
            Err(error) => R::refused(error),
        }
    }

    fn prepare(self) -> Result<Once, Error> {
        #[cfg(feature = "cron")]
        if let Some(invalid) = self.invalid {
            return Err(invalid.into());
        }
        let once = self.call.into_once()?.keep(self.keep);
        Ok(match self.keep_failure {
            Some(keep_failure) => once.keep_failure(keep_failure),
            None => once,
        })
    }
}

impl<R> fmt::Debug for OnceCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCall")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}

/// The return types of functions with `once`.
#[diagnostic::on_unimplemented(
    message = "the result of type `{Self}` cannot be recorded",
    label = "`once` needs `Result<T, E>`, where `T` is `Serialize + DeserializeOwned`, and `E` is `Display + From<leasehold::Error>`",
    note = "derive `serde::Serialize` and `serde::Deserialize` for `T`, or return `Result<(), E>`"
)]
pub trait OnceReturn: LockedReturn {
    /// Returns the recorded result, or runs `body` and records its result.
    fn run(once: Once, body: impl AsyncFnOnce(LockHandle) -> Self) -> impl Future<Output = Self>;
}

#[diagnostic::do_not_recommend]
impl<T, E> OnceReturn for Result<T, E>
where
    T: Serialize + DeserializeOwned,
    E: From<Error> + fmt::Display,
{
    async fn run(once: Once, body: impl AsyncFnOnce(LockHandle) -> Self) -> Self {
        once.run(body).await
    }
}
