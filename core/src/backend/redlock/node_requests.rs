//! The pending requests of this process to nodes, and the time limits for replies.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Sleep;

use crate::clock::{self, LeaseInstant};
use crate::runtime::{self, Runtime};

/// Concurrent requests to several nodes. The caller does not wait for the last reply. Requests that are pending when
/// this value is dropped continue in the background, within their limit. So the client does not mistake a slow reply
/// for a lost reply.
pub(super) struct NodeRequests<F: Future<Output: Send> + Send + 'static>(RequestFutures<F>);

struct RequestFutures<F> {
    /// The boxes avoid moves of the large futures.
    unanswered: FuturesUnordered<Pin<Box<F>>>,
    /// `None` if each request has a separate limit.
    deadline: Option<Arc<SharedDeadline>>,
    /// The timer. `None` until the caller first waits for a reply.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<F: Future<Output: Send> + Send + 'static> NodeRequests<F> {
    /// Creates requests with separate limits.
    pub(super) fn new(requests: impl IntoIterator<Item = F>) -> Self {
        Self::of(requests, None)
    }

    /// Creates requests with a common limit.
    pub(super) fn within<I: IntoIterator<Item = F>>(
        limit: Duration,
        requests: impl FnOnce(AnswerLimit) -> I,
    ) -> Self {
        let deadline = SharedDeadline::of(limit);
        let requests = requests(AnswerLimit::Shared(Arc::clone(&deadline)));
        Self::of(requests, Some(deadline))
    }

    fn of(requests: impl IntoIterator<Item = F>, deadline: Option<Arc<SharedDeadline>>) -> Self {
        Self(RequestFutures {
            unanswered: requests.into_iter().map(Box::pin).collect(),
            deadline,
            timer: None,
        })
    }

    /// Sends the requests without waiting for replies.
    pub(super) fn go_on(self) {}

    /// Waits until `moment`, while the requests continue.
    pub(super) async fn until(mut self, moment: LeaseInstant) {
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

impl<F: Future> RequestFutures<F> {
    async fn next(&mut self) -> Option<F::Output> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let answer = self.unanswered.poll_next_unpin(cx);
        let ahead = self.deadline.as_ref().filter(|it| !it.has_passed());
        let Some(deadline) = ahead.filter(|_| answer.is_pending()) else {
            return answer;
        };
        if self.timer.is_none() {
            self.timer = runtime::sleep(deadline.length()).map(Box::pin);
        }
        let rung = self.timer.as_mut().map(|timer| timer.as_mut().poll(cx));
        if rung != Some(Poll::Ready(())) {
            return Poll::Pending;
        }
        deadline.pass();
        // Inserting the requests again causes a poll of each request, and each request then checks the deadline.
        let unanswered = std::mem::take(&mut self.unanswered);
        self.unanswered = unanswered.into_iter().collect();
        self.unanswered.poll_next_unpin(cx)
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for NodeRequests<F> {
    fn drop(&mut self) {
        if self.0.unanswered.is_empty() {
            return;
        }
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let mut rest = RequestFutures {
            unanswered: std::mem::take(&mut self.0.unanswered),
            deadline: self.0.deadline.take(),
            timer: self.0.timer.take(),
        };
        runtime.spawn_on_current(async move { while rest.next().await.is_some() {} });
    }
}

/// The time limit for a reply.
#[derive(Debug, Clone)]
pub(super) enum AnswerLimit {
    /// The limit begins with the call.
    Own(Duration),
    /// All requests of the group share this limit, with one timer.
    Shared(Arc<SharedDeadline>),
}

impl AnswerLimit {
    pub(super) fn length(&self) -> Duration {
        match self {
            Self::Own(length) => *length,
            Self::Shared(deadline) => deadline.length,
        }
    }
}

impl From<Duration> for AnswerLimit {
    fn from(length: Duration) -> Self {
        Self::Own(length)
    }
}

/// The deadline of a group of requests. The caller of the group owns the timer.
#[derive(Debug)]
pub(super) struct SharedDeadline {
    length: Duration,
    /// Whether there is a runtime for the timer.
    is_kept: bool,
    has_passed: AtomicBool,
}

impl SharedDeadline {
    pub(super) fn of(length: Duration) -> Arc<Self> {
        Arc::new(Self {
            length,
            is_kept: runtime::in_runtime(),
            has_passed: AtomicBool::new(false),
        })
    }

    pub(super) fn length(&self) -> Duration {
        self.length
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(super) fn pass(&self) {
        self.has_passed.store(true, Ordering::Release);
    }

    pub(super) fn has_passed(&self) -> bool {
        self.has_passed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_timer_ends_the_wait_for_all_that_have_not_answered() {
        let (begin, limit) = (Instant::now(), Duration::from_millis(50));
        let mut asked = NodeRequests::within(limit, |limit| {
            (0..5).map(move |place| {
                let limit = limit.clone();
                async move {
                    let answer = poll_fn(|_cx| match &limit {
                        _ if place < 2 => Poll::Ready(true),
                        AnswerLimit::Shared(deadline) if deadline.has_passed() => {
                            Poll::Ready(false)
                        }
                        _ => Poll::Pending,
                    });
                    answer.await
                }
            })
        });
        assert_eq!(
            (asked.next().await, asked.next().await),
            (Some(true), Some(true))
        );
        assert_eq!(begin.elapsed(), Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(asked.next().await, Some(false));
            assert_eq!(begin.elapsed(), limit);
        }
        assert_eq!(asked.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_on_in_the_background_ends_with_its_limit() {
        let (done, ended) = tokio::sync::oneshot::channel();
        let (begin, limit) = (Instant::now(), Duration::from_millis(50));
        let asked = NodeRequests::within(limit, |limit| {
            let waits = async move {
                let end = poll_fn(|_cx| match &limit {
                    AnswerLimit::Shared(deadline) if deadline.has_passed() => Poll::Ready(()),
                    _ => Poll::Pending,
                });
                end.await;
                done.send(begin.elapsed())
            };
            [waits]
        });
        asked.go_on();
        assert_eq!(ended.await, Ok(limit));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_lasts_to_its_end_whether_the_requests_do_or_not() {
        let pause = Duration::from_millis(30);
        for request in [Duration::ZERO, pause / 2, pause * 2] {
            let begin = Instant::now();
            let asked = NodeRequests::new([tokio::time::sleep(request)]);
            asked.until(LeaseInstant::now().after(pause)).await;
            assert_eq!(begin.elapsed(), pause);
        }
    }
}
