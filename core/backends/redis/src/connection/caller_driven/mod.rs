//! Callers that wait for a reply read the connection themselves.
//!
//! The `redis` crate returns one future for each connection, which writes requests and reads replies. If a separate
//! task polled this future, each round trip would cost two task switches, and often thread switches. So callers poll
//! the future themselves. When there is input, the connection wakes one of the waiting callers, always the same one
//! until that caller has its reply. This caller delivers the replies that it reads for others.
//!
//! If no caller waits, a task of the connection reads: the fallback driver. It handles pushes, the end of the
//! connection, and the work that remains after a caller has received its reply. It also drives the connection if a
//! woken caller is not polled, so that no caller can block the others.

mod drive_state;
mod fallback_driver;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::task::coop::unconstrained;

use drive_state::{DriveWaiter, SharedDriveState};
use fallback_driver::FallbackDriver;
use leasehold_core::backend::support::runtime::Runtime;

/// Drives one connection. The connection ends when this value is dropped.
pub(crate) struct Driver {
    shared: Arc<SharedDriveState>,
    fallback: AbortHandle,
}

impl Driver {
    /// Drives `exchange`, the future of a connection, in this runtime. A woken caller must poll within a time between
    /// `fallback_after` and twice `fallback_after`.
    pub(crate) fn start(
        runtime: &Runtime,
        fallback_after: Duration,
        exchange: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        // The caller must read for others even if the caller has used up its cooperative budget.
        let shared = SharedDriveState::new(Box::pin(unconstrained(exchange)));
        let fallback = runtime.spawn(FallbackDriver::of(&shared, fallback_after).run());
        Self {
            shared,
            fallback: fallback.abort_handle(),
        }
    }

    /// Waits for a reply of this connection, and drives the connection if no other task does.
    pub(crate) fn drive_until<'a, T>(
        &'a self,
        mut answer: Pin<&'a mut impl Future<Output = T>>,
    ) -> impl Future<Output = T> {
        let mut caller = DriveWaiter::of(&self.shared);
        poll_fn(move |context| caller.poll(answer.as_mut(), context))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // This ends the connection now, not when the runtime is driven again.
        self.shared.close();
        self.fallback.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::pin::pin;
    use std::sync::OnceLock;
    use std::task::Poll;

    use futures_util::poll;
    use tokio::runtime::Builder;
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::coop::{consume_budget, has_budget_remaining};
    use tokio::task::{Id, try_id};
    use tokio::time::{Instant, timeout};

    use super::*;

    type ReaderTask = Option<Id>;

    const PATIENCE: Duration = Duration::from_millis(10);
    const ENDLESS: Duration = Duration::from_secs(3_600);

    /// A test connection on which each reply contains the task that read it.
    struct TestConnection {
        driver: Driver,
        asked: mpsc::UnboundedSender<oneshot::Sender<ReaderTask>>,
        /// Each word that the server sends is the reply to the oldest request.
        server: mpsc::UnboundedSender<()>,
    }

    impl TestConnection {
        fn open(runtime: &Runtime, fallback_after: Duration) -> Self {
            let (asked, mut pick_query_nodes) =
                mpsc::unbounded_channel::<oneshot::Sender<ReaderTask>>();
            let (server, mut said) = mpsc::unbounded_channel::<()>();
            let (mut unanswered, mut words) = (VecDeque::new(), 0);
            let exchange = poll_fn(move |context| {
                while let Poll::Ready(question) = pick_query_nodes.poll_recv(context) {
                    let Some(question) = question else {
                        return Poll::Ready(());
                    };
                    unanswered.push_back(question);
                }
                while let Poll::Ready(word) = said.poll_recv(context) {
                    if word.is_none() {
                        return Poll::Ready(());
                    }
                    words += 1;
                }
                for question in unanswered.drain(..words.min(unanswered.len())) {
                    let _given_up = question.send(try_id());
                    words -= 1;
                }
                Poll::Pending
            });
            Self {
                driver: Driver::start(runtime, fallback_after, exchange),
                asked,
                server,
            }
        }

        async fn here(fallback_after: Duration) -> Arc<Self> {
            let here = Self::open(&Runtime::current().unwrap(), fallback_after);
            // The runtime polls the fallback driver before the test begins.
            tokio::task::yield_now().await;
            Arc::new(here)
        }

        async fn ask(&self) -> Result<ReaderTask, oneshot::error::RecvError> {
            let question = async {
                let (answer, reply) = oneshot::channel();
                drop(self.asked.send(answer));
                reply.await
            };
            self.driver.drive_until(pin!(question)).await
        }

        fn says(&self, words: usize) {
            for _ in 0..words {
                self.server.send(()).unwrap();
            }
        }
    }

    fn ask_in_a_task(connection: &Arc<TestConnection>) -> tokio::task::JoinHandle<ReaderTask> {
        let connection = Arc::clone(connection);
        tokio::spawn(async move { connection.ask().await.unwrap() })
    }

    #[tokio::test]
    async fn a_waiting_caller_reads_its_own_reply() {
        let connection = TestConnection::here(ENDLESS).await;
        for _ in 0..3 {
            let asking = ask_in_a_task(&connection);
            tokio::task::yield_now().await;
            connection.says(1);
            let task = asking.id();
            assert_eq!(asking.await.unwrap(), Some(task));
        }
    }

    #[tokio::test]
    async fn the_first_caller_reads_for_others_and_then_the_fallback_driver_does() {
        let connection = TestConnection::here(ENDLESS).await;
        let (first, second) = (ask_in_a_task(&connection), ask_in_a_task(&connection));
        let third = ask_in_a_task(&connection);
        tokio::task::yield_now().await;
        let tasks = [first.id(), second.id(), third.id()].map(Some);
        connection.says(2);
        assert_eq!(first.await.unwrap(), tasks[0]);
        assert_eq!(second.await.unwrap(), tasks[0]);
        connection.says(1);
        let reader = third.await.unwrap();
        assert!(reader.is_some() && !tasks.contains(&reader), "{reader:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_is_not_polled_does_not_block_other_callers() {
        let connection = TestConnection::here(PATIENCE).await;
        let mut first = Box::pin(connection.ask());
        assert!(poll!(&mut first).is_pending());
        let second = ask_in_a_task(&connection);
        tokio::task::yield_now().await;
        connection.says(2);
        let begin = Instant::now();
        second.await.unwrap();
        let took = begin.elapsed();
        assert!(
            PATIENCE < took && took < 2 * PATIENCE + Duration::from_millis(3),
            "{took:?}"
        );
        assert!(poll!(&mut first).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_is_not_polled_is_replaced_while_others_drive() {
        let connection = TestConnection::here(PATIENCE).await;
        let mut first = Box::pin(connection.ask());
        assert!(poll!(&mut first).is_pending());
        connection.says(1);
        for _ in 0..10 {
            let _asking = ask_in_a_task(&connection);
            tokio::time::sleep(PATIENCE / 3).await;
            connection.says(1);
        }
        let last = ask_in_a_task(&connection);
        tokio::task::yield_now().await;
        connection.says(1);
        let at_once = timeout(Duration::from_millis(1), last);
        at_once.await.expect("no caller was patient").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_polled_in_time_keeps_driving_and_its_watch_ends() {
        let connection = TestConnection::here(PATIENCE).await;
        for _ in 0..50 {
            let asking = ask_in_a_task(&connection);
            tokio::time::sleep(Duration::from_millis(3)).await;
            connection.says(1);
            let task = asking.id();
            assert_eq!(asking.await.unwrap(), Some(task));
        }
        let mut waiting = Box::pin(connection.ask());
        assert!(poll!(&mut waiting).is_pending());
        tokio::time::sleep(5 * PATIENCE).await;
        assert!(!connection.driver.shared.is_watched());
    }

    #[test]
    fn a_caller_without_cooperative_budget_still_reads_for_others() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (connection, second) = runtime.block_on(async {
            let connection = TestConnection::here(ENDLESS).await;
            let mut first = Box::pin(connection.ask());
            assert!(poll!(&mut first).is_pending());
            let second = ask_in_a_task(&connection);
            tokio::task::yield_now().await;
            connection.says(2);
            while has_budget_remaining() {
                consume_budget().await;
            }
            assert!(poll!(&mut first).is_pending(), "it has no share left");
            drop(first);
            (connection, second)
        });
        let in_time = async { timeout(Duration::from_secs(9), second).await };
        runtime.block_on(in_time).expect("it was read").unwrap();
        drop(connection);
    }

    #[tokio::test]
    async fn a_caller_that_moves_to_another_task_is_woken_there() {
        let connection = TestConnection::here(ENDLESS).await;
        for another_drives in [true, false] {
            let asked = Arc::clone(&connection);
            let mut asking = Box::pin(async move { asked.ask().await.unwrap() });
            assert!(poll!(&mut asking).is_pending());
            let turn = connection.driver.shared.begin().filter(|_| another_drives);
            let moved = tokio::spawn(asking);
            tokio::task::yield_now().await;
            drop(turn);
            connection.says(1);
            let task = moved.id();
            assert_eq!(moved.await.unwrap(), Some(task));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_caller_that_was_woken_does_not_delay_other_callers() {
        let connection = TestConnection::here(ENDLESS).await;
        let mut first = Box::pin(connection.ask());
        assert!(poll!(&mut first).is_pending());
        let second = ask_in_a_task(&connection);
        tokio::task::yield_now().await;
        connection.says(2);
        drop(first);
        let at_once = timeout(Duration::from_millis(1), second);
        at_once.await.expect("no caller was patient").unwrap();
    }

    #[tokio::test]
    async fn dropping_the_driver_ends_the_connection_despite_other_references() {
        let connection = TestConnection::here(ENDLESS).await;
        let fallback = connection.driver.fallback.clone();
        let (asked, server) = (connection.asked.clone(), connection.server.clone());
        drop(Arc::into_inner(connection).unwrap());
        assert!(asked.is_closed() && server.is_closed());
        tokio::task::yield_now().await;
        assert!(fallback.is_finished());
    }

    #[tokio::test]
    async fn a_caller_gets_an_error_when_the_connection_ends() {
        let connection = TestConnection::here(ENDLESS).await;
        let mut first = Box::pin(connection.ask());
        assert!(poll!(&mut first).is_pending());
        connection.driver.shared.close();
        assert!(first.await.is_err());
        assert!(connection.ask().await.is_err());
    }

    #[test]
    fn a_connection_ends_with_its_runtime() {
        let elsewhere = Builder::new_current_thread().enable_all().build().unwrap();
        let runtime = elsewhere.block_on(async { Runtime::current().unwrap() });
        let connection = TestConnection::open(&runtime, ENDLESS);
        drop(elsewhere);
        let here = Builder::new_current_thread().enable_all().build().unwrap();
        let in_time = async { timeout(Duration::from_secs(9), connection.ask()).await };
        assert!(here.block_on(in_time).expect("it has not").is_err());
    }

    #[tokio::test]
    async fn a_wake_while_a_caller_drives_is_not_lost() {
        let (answer, reply) = oneshot::channel::<()>();
        let mut answer = Some(answer);
        let mut times = 0;
        let exchange = poll_fn(move |context| {
            times += 1;
            match times {
                // The fallback driver polled first, and then the caller.
                1 => {}
                2 => context.waker().wake_by_ref(),
                _ => drop(answer.take()),
            }
            Poll::Pending
        });
        let driver = Driver::start(&Runtime::current().unwrap(), ENDLESS, exchange);
        tokio::task::yield_now().await;
        let asking = tokio::spawn(async move { driver.drive_until(pin!(reply)).await });
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        assert!(
            asking.is_finished(),
            "the fallback driver had to be patient"
        );
    }

    #[tokio::test]
    async fn a_connection_closed_while_it_is_driven_is_dropped_afterwards() {
        let kept = Arc::new(());
        let (closing, to_close) = (
            Arc::clone(&kept),
            Arc::new(OnceLock::<Arc<SharedDriveState>>::new()),
        );
        let of_it = Arc::clone(&to_close);
        let exchange = poll_fn(move |_| {
            let _kept = &closing;
            if let Some(shared) = of_it.get() {
                shared.close();
            }
            Poll::Pending
        });
        let driver = Driver::start(&Runtime::current().unwrap(), ENDLESS, exchange);
        tokio::task::yield_now().await;
        to_close.set(Arc::clone(&driver.shared)).ok().unwrap();
        driver.shared.begin().unwrap().drive();
        assert_eq!(Arc::strong_count(&kept), 1);
        assert!(driver.shared.begin().is_none());
    }

    #[tokio::test]
    async fn a_panic_ends_the_connection_and_the_caller_gets_an_error() {
        let (answer, reply) = oneshot::channel::<()>();
        let mut times = 0;
        let exchange = poll_fn(move |_| {
            let _owed = &answer;
            times += 1;
            assert!(times < 2, "on purpose");
            Poll::Pending
        });
        let driver = Driver::start(&Runtime::current().unwrap(), ENDLESS, exchange);
        tokio::task::yield_now().await;
        assert!(driver.drive_until(pin!(reply)).await.is_err());
        tokio::task::yield_now().await;
        assert!(driver.fallback.is_finished());
    }

    #[test]
    fn no_reply_is_lost_with_concurrent_callers_on_threads() {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let connection = TestConnection::here(ENDLESS).await;
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let connection = Arc::clone(&connection);
                tasks.spawn(async move {
                    for n in 0..2_000 {
                        let server = connection.server.clone();
                        tokio::spawn(async move { server.send(()).unwrap() });
                        let mut asking = Box::pin(connection.ask());
                        if n % 7 > 0 {
                            asking.await.unwrap();
                        } else if let Poll::Ready(answer) = poll!(&mut asking) {
                            answer.unwrap();
                        }
                    }
                });
            }
            let all = timeout(Duration::from_secs(60), tasks.join_all());
            all.await.expect("a notification was lost");
        });
    }
}
