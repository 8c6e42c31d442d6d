//! The pending requests of this process to nodes.

use std::future::Future;

use tokio::task::JoinSet;

use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::support::runtime;

/// Concurrent requests to several nodes. The caller does not wait for the last reply. Requests that are pending when
/// this value is dropped continue in the background, within their limits. So the client does not mistake a slow reply
/// for a lost reply.
///
/// Each request is a task, so that several threads of the runtime share the work of a round.
pub(super) struct NodeRequests<T: 'static>(JoinSet<T>);

impl<T: Send + 'static> NodeRequests<T> {
    /// Sends the requests. Outside a runtime this sends none.
    pub(super) fn new(
        requests: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
    ) -> Self {
        Self(runtime::spawn_all(requests))
    }

    /// Continues the requests without waiting for replies.
    pub(super) fn go_on(self) {}

    /// Waits until `moment`, while the requests continue.
    pub(super) async fn until(self, moment: LeaseInstant) {
        clock::sleep_until(moment).await;
    }

    /// Returns the next reply, or `None` after the last. A request whose task panicked has no reply.
    pub(super) async fn next(&mut self) -> Option<T> {
        loop {
            if let Ok(answer) = self.0.join_next().await? {
                return Some(answer);
            }
        }
    }
}

impl<T> Drop for NodeRequests<T> {
    fn drop(&mut self) {
        self.0.detach_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn replies_are_returned_in_the_order_of_their_arrival() {
        let begin = Instant::now();
        let mut asked = NodeRequests::new([3, 1, 2].map(|place| async move {
            sleep(Duration::from_millis(place)).await;
            place
        }));
        for place in 1..=3 {
            assert_eq!(asked.next().await, Some(place));
            assert_eq!(begin.elapsed(), Duration::from_millis(place));
        }
        assert_eq!(asked.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_continues_in_the_background_until_it_ends() {
        let (done, ended) = tokio::sync::oneshot::channel();
        let (begin, limit) = (Instant::now(), Duration::from_millis(50));
        let asked = NodeRequests::new([async move {
            sleep(limit).await;
            done.send(begin.elapsed())
        }]);
        asked.go_on();
        assert_eq!(ended.await, Ok(limit));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_lasts_its_whole_time_however_long_requests_take() {
        let pause = Duration::from_millis(30);
        for request in [Duration::ZERO, pause / 2, pause * 2] {
            let begin = Instant::now();
            let asked = NodeRequests::new([sleep(request)]);
            asked.until(LeaseInstant::now().after(pause)).await;
            assert_eq!(begin.elapsed(), pause);
        }
    }

    #[tokio::test]
    async fn a_request_that_panics_has_no_reply() {
        let mut asked = NodeRequests::new([false, true].map(|is_sound| async move {
            assert!(is_sound, "on purpose");
        }));
        assert_eq!(asked.next().await, Some(()));
        assert_eq!(asked.next().await, None);
    }

    #[test]
    fn outside_a_runtime_nothing_is_sent() {
        let asked = NodeRequests::new([async { panic!("it is polled") }]);
        asked.go_on();
    }
}
