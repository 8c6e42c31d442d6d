//! Bounds a call of the backend in time, and catches its panics.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use pin_project_lite::pin_project;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::Sleep;

use crate::backend::BackendError;
use crate::clock::{self, ClockReading, LeaseInstant};
use crate::runtime;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long before the end the last try is made.
const LAST_TRY: Duration = Duration::from_millis(10);

/// Carries out one command within `limit`.
///
/// Whatever a backend does (hang, panic), and wherever this is called, the caller gets an answer in time, and an outcome that was
/// not seen is "unknown".
pub(crate) fn bounded<T>(
    limit: Duration,
    command: impl Future<Output = Result<T, BackendError>>,
) -> impl Future<Output = Result<T, BackendError>> {
    bounded_since(ClockReading::now(), limit, command)
}

/// The same, within `limit` from a look at the clock just before.
pub(super) fn bounded_since<T>(
    begin: ClockReading,
    limit: Duration,
    command: impl Future<Output = Result<T, BackendError>>,
) -> impl Future<Output = Result<T, BackendError>> {
    WithTimeout {
        command,
        begin: begin.instant,
        limit,
        timer: None,
    }
}

pin_project! {
    /// A command and its limit. One that is ready at once costs no timer.
    struct WithTimeout<F> {
        #[pin]
        command: F,
        begin: Instant,
        limit: Duration,
        // It rings even where the task has used its share of the scheduler up.
        #[pin]
        timer: Option<Unconstrained<Sleep>>,
    }
}

impl<T, F: Future<Output = Result<T, BackendError>>> Future for WithTimeout<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if this.timer.is_none() && !runtime::in_runtime() {
            return Poll::Ready(Err(outside_of_runtimes()));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| this.command.poll(cx)));
        if let Poll::Ready(answer) = polled.unwrap_or_else(|_| Poll::Ready(Err(panicked()))) {
            return Poll::Ready(answer);
        }
        if this.timer.is_none() {
            let Some(timer) = runtime::sleep_until(*this.begin + *this.limit) else {
                return Poll::Ready(Err(outside_of_runtimes()));
            };
            this.timer.set(Some(unconstrained(timer)));
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(cx).map(|()| {
                let limit = *this.limit;
                let silent = format!("the backend did not answer within {limit:?}");
                Err(BackendError::unknown(silent))
            }),
            None => Poll::Pending,
        }
    }
}

/// An answer that a backend has at once, if it has one.
pub(super) fn at_once<T>(
    ask: impl FnOnce() -> Option<Result<T, BackendError>>,
) -> Option<Result<T, BackendError>> {
    let answer = catch_unwind(AssertUnwindSafe(ask));
    answer.unwrap_or_else(|_panic| Some(Err(panicked())))
}

fn outside_of_runtimes() -> BackendError {
    let refusal = "a backend can only be used inside a tokio runtime; enter one first";
    BackendError::not_applied(refusal).permanent()
}

/// A backend that panics must not take the watchdog, or a cleanup, with it.
pub(super) async fn catch_panic<T>(
    command: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let caught = AssertUnwindSafe(command).catch_unwind().await;
    caught.unwrap_or_else(|_panic| Err(panicked()))
}

fn panicked() -> BackendError {
    BackendError::unknown("the backend panicked")
}

/// Pauses between tries that grow, up to a cap, and are not the same for all.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Pauses before another try; gives the error back if none is of use before `end`. The last try comes just before.
    pub(super) async fn pause_after(
        &mut self,
        error: BackendError,
        end: LeaseInstant,
    ) -> Result<(), BackendError> {
        if error.is_temporary() && self.pause_before(end).await {
            return Ok(());
        }
        Err(error)
    }

    /// Pauses before another try, whatever the failure. False if none is of use before `end`.
    pub(super) async fn pause_before(&mut self, end: LeaseInstant) -> bool {
        let left = end.remaining().saturating_sub(LAST_TRY);
        if left.is_zero() {
            return false;
        }
        let pause = self.next().min(left);
        clock::sleep_until(LeaseInstant::now().after(pause)).await;
        true
    }

    pub(super) async fn pause(&mut self) {
        let pause = self.next();
        clock::sleep_until(LeaseInstant::now().after(pause)).await;
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        with_jitter(pause)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST_PAUSE }
    }
}

/// Between nine tenths and the whole of `duration`: callers that fell into step get out of it.
pub(super) fn with_jitter(duration: Duration) -> Duration {
    duration.mul_f64(0.9 + fastrand::f64() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Applied;

    #[tokio::test(start_paused = true)]
    async fn a_command_that_hangs_or_panics_is_an_unknown_outcome_in_time() {
        let limit = Duration::from_secs(2);
        let hangs = bounded::<()>(limit, std::future::pending()).await;
        assert_eq!(
            hangs.unwrap_err().to_string(),
            "the backend did not answer within 2s"
        );
        let panics = bounded::<()>(limit, async { panic!("a bug in a backend") }).await;
        assert_eq!(panics.unwrap_err().to_string(), "the backend panicked");
        let panics = at_once::<()>(|| panic!("a bug in a backend")).unwrap();
        assert_eq!(panics.unwrap_err().applied(), Applied::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_counts_from_the_look_that_was_taken_before() {
        let (begin, ms) = (ClockReading::now(), Duration::from_millis);
        tokio::time::advance(ms(600)).await;
        let hangs = bounded_since::<()>(begin, ms(1_000), std::future::pending()).await;
        assert!(hangs.is_err());
        let took = LeaseInstant::now().since(begin.moment);
        assert!((ms(1_000)..ms(1_010)).contains(&took), "{took:?}");
    }

    #[test]
    fn pauses_grow_up_to_the_cap() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::default();
        let whole = [10, 20, 40, 80, 160, 320, 640, 1000, 1000];
        for whole in whole.map(ms) {
            let pause = backoff.next();
            assert!(
                pause <= whole && pause >= whole.mul_f64(0.89),
                "{pause:?} of {whole:?}"
            );
        }
    }
}
