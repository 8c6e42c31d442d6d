//! One background task for all callers that want the same result. The task continues if a caller is dropped or times
//! out.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use scopeguard::guard;
use tokio::runtime::Id;
use tokio::sync::watch;

use crate::backend::BackendError;
use crate::runtime::Runtime;

type FlightResult<T> = Result<T, BackendError>;

type Flights<T> = Vec<(Id, watch::Receiver<Option<FlightResult<T>>>)>;

/// Work that one task does for all concurrent callers.
pub struct SingleFlight<T> {
    /// At most one task per runtime. Callers in one runtime must not wait for another runtime, because that runtime may
    /// not be driven.
    under_way: Arc<Mutex<Flights<T>>>,
}

impl<T> fmt::Debug for SingleFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").finish_non_exhaustive()
    }
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            under_way: Arc::default(),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    /// Waits for the work in progress, or starts it. The work must end even if no caller waits for it.
    ///
    /// # Errors
    ///
    /// Returns the error of the work, and [`BackendError`] outside a runtime, or if the runtime of the work has ended.
    pub async fn join<F>(&self, begin: impl FnOnce() -> F) -> FlightResult<T>
    where
        F: Future<Output = FlightResult<T>> + Send + 'static,
    {
        let runtime = Runtime::current().ok_or_else(BackendError::outside_a_runtime)?;
        let (tell, mut outcome) = watch::channel(None);
        if let Some(under_way) = self.enter(runtime.id(), &outcome) {
            outcome = under_way;
        } else {
            // This guard runs when the task has completed, or was dropped with its runtime.
            let (all, id) = (Arc::clone(&self.under_way), runtime.id());
            let end = guard(all, move |all| all.lock().retain(|(it, _)| *it != id));
            let work = begin();
            runtime.spawn(async move {
                let outcome = work.await;
                drop(end);
                tell.send_replace(Some(outcome));
            });
        }
        let result = outcome.wait_for(Option::is_some).await;
        result
            .ok()
            .and_then(|result| result.clone())
            .unwrap_or_else(|| {
                let ended = "the task that was connecting, or asking for the location, has ended";
                Err(BackendError::not_applied(ended))
            })
    }

    /// Adds work for this runtime, or returns the work in progress.
    fn enter(
        &self,
        runtime: Id,
        outcome: &watch::Receiver<Option<FlightResult<T>>>,
    ) -> Option<watch::Receiver<Option<FlightResult<T>>>> {
        let mut under_way = self.under_way.lock();
        let known = under_way.iter().find(|(id, _)| *id == runtime);
        if let Some((_, known)) = known {
            return Some(known.clone());
        }
        under_way.push((runtime, outcome.clone()));
        None
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn concurrent_callers_share_one_task_and_a_later_one_starts_another() {
        let flight = SingleFlight::default();
        let (go, gone) = oneshot::channel::<u8>();
        let first = flight.join(async move || Ok(gone.await.unwrap()));
        let second = flight.join(async || panic!("it is under way"));
        let (mut first, mut second) = (Box::pin(first), Box::pin(second));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        // The caller that started the work is dropped, and no other caller waits.
        drop(first);
        go.send(7).unwrap();
        assert_eq!(second.await.unwrap(), 7);
        assert_eq!(flight.join(async || Ok(8)).await.unwrap(), 8);
    }

    #[test]
    fn a_stalled_or_ended_runtime_does_not_block_callers_on_others() {
        let flight = SingleFlight::default();
        let still = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let waiting = flight.join(async || Ok(1));
        let mut waiting = Box::pin(waiting);
        still.block_on(async { assert!(poll!(&mut waiting).is_pending()) });
        let here = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(here.block_on(flight.join(async || Ok(2))).unwrap(), 2);
        drop(still);
        let ended = here.block_on(waiting).unwrap_err();
        assert!(ended.is_temporary(), "{ended}");
        assert!(flight.under_way.lock().is_empty());
    }
}
