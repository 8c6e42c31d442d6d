//! A call whose result is recorded.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::returned::{LockedReturn, SealedReturn};
use crate::{Error, LockHandle, LockManager};
#[cfg(feature = "cron")]
use crate::{InvalidSchedule, Schedule, Slot};

/// A call of a function that returns `R`, before the recorded result is read.
#[must_use = "a call does nothing until it runs"]
pub struct OnceCall<R> {
    call: Call,
    keep: Duration,
    keep_failure: Option<Duration>,
    #[cfg(feature = "cron")]
    slot: Option<Result<Slot, InvalidSchedule>>,
    returned: PhantomData<fn() -> R>,
}
