use std::future::{Future, pending};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::clock::{self, Moment};
use crate::runtime::Runtime;

/// Requests to several nodes at once. Nobody waits for the last of them: what is unanswered when this is dropped goes on
/// in the background, within its own limit, so that a slow answer is not mistaken for a lost one.
pub(super) struct Asked<F: Future<Output: Send> + Send + 'static>(FuturesUnordered<F>);

impl<F: Future<Output: Send> + Send + 'static> Asked<F> {
    pub(super) fn new(requests: impl IntoIterator<Item = F>) -> Self {
        Self(requests.into_iter().collect())
    }

    /// Sends what nobody waits for.
    pub(super) fn go_on(self) {}

    /// Pauses until `moment` while the requests are under way.
    pub(super) async fn until(mut self, moment: Moment) {
        let answers = async {
            while self.next().await.is_some() {}
            pending::<()>().await;
        };
        tokio::select! {
            () = answers => {}
            () = clock::sleep_until(moment) => {}
        }
    }

    pub(super) async fn next(&mut self) -> Option<F::Output> {
        self.0.next().await
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Asked<F> {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let mut rest = std::mem::take(&mut self.0);
        runtime.spawn_here(async move { while rest.next().await.is_some() {} });
    }
}
