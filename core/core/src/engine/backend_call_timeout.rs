//! Limits the time of a call to the backend, and catches its panics.

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
use crate::clock::ClockReading;
use crate::runtime;

/// Executes one command within `limit`.
///
/// Even if the backend hangs or panics, the caller receives a result in time, also outside a runtime. If there is no
/// reply, the outcome is "unknown".
pub(crate) fn bounded<T>(
    limit: Duration,
    command: impl Future<Output = Result<T, BackendError>>,
) -> impl Future<Output = Result<T, BackendError>> {
    bounded_since(ClockReading::now(), limit, command)
}

/// Works like [`bounded`], but counts `limit` from `begin`, which the caller has just read.
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
    /// A command and its limit. A command that is ready immediately creates no timer.
    struct WithTimeout<F> {
        #[pin]
        command: F,
        begin: Instant,
        limit: Duration,
        // The timer fires even if the task has used up its scheduler budget.
        #[pin]
        timer: Option<Unconstrained<Sleep>>,
    }
}

impl<T, F: Future<Output = Result<T, BackendError>>> Future for WithTimeout<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        if this.timer.is_none() && !runtime::in_runtime() {
            return Poll::Ready(Err(BackendError::outside_a_runtime()));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| this.command.poll(cx)));
        if let Poll::Ready(answer) = polled.unwrap_or_else(|_| Poll::Ready(Err(panicked()))) {
            return Poll::Ready(answer);
        }
        if this.timer.is_none() {
            let Some(timer) = runtime::sleep_until(*this.begin + *this.limit) else {
                return Poll::Ready(Err(BackendError::outside_a_runtime()));
            };
            this.timer.set(Some(unconstrained(timer)));
        }
        match this.timer.as_pin_mut() {
            Some(timer) => timer.poll(cx).map(|()| {
                let limit = *this.limit;
                let silent = format!("the backend did not reply within {limit:?}");
                Err(BackendError::unknown(silent))
            }),
            None => Poll::Pending,
        }
    }
}

/// Returns a backend's immediate reply, if any.
pub(super) fn at_once<T>(
    ask: impl FnOnce() -> Option<Result<T, BackendError>>,
) -> Option<Result<T, BackendError>> {
    let answer = catch_unwind(AssertUnwindSafe(ask));
    answer.unwrap_or_else(|_panic| Some(Err(panicked())))
}

/// Turns a panic of the backend into an error, so that it does not end the watchdog or a cleanup.
pub(super) async fn catch_panic<T>(
    command: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let caught = AssertUnwindSafe(command).catch_unwind().await;
    caught.unwrap_or_else(|_panic| Err(panicked()))
}

fn panicked() -> BackendError {
    BackendError::unknown("the backend panicked")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Applied;
    use crate::clock::LeaseInstant;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_hangs_or_panics_returns_an_unknown_outcome() {
        let limit = Duration::from_secs(2);
        let hangs = bounded::<()>(limit, std::future::pending()).await;
        assert_eq!(
            hangs.unwrap_err().to_string(),
            "the backend did not reply within 2s"
        );
        let panics = bounded::<()>(limit, async { panic!("a bug in a backend") }).await;
        assert_eq!(panics.unwrap_err().to_string(), "the backend panicked");
        let panics = at_once::<()>(|| panic!("a bug in a backend")).unwrap();
        assert_eq!(panics.unwrap_err().applied(), Applied::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_limit_counts_from_the_given_clock_reading() {
        let (begin, ms) = (ClockReading::now(), Duration::from_millis);
        tokio::time::advance(ms(600)).await;
        let hangs = bounded_since::<()>(begin, ms(1_000), std::future::pending()).await;
        assert!(hangs.is_err());
        let took = LeaseInstant::now().since(begin.moment);
        assert!((ms(1_000)..ms(1_010)).contains(&took), "{took:?}");
    }
}
