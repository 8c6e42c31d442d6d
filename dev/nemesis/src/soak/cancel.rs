use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls a future until it has returned `Pending` `polls` times, and then drops it. Returns `None`, unless it completed
/// before.
pub(super) async fn dropped_after<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut pending = 0;
    poll_fn(|context| {
        if pending == polls {
            return Poll::Ready(None);
        }
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        pending += 1;
        // The future may not be woken again.
        if pending == polls {
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn future_is_dropped_after_the_given_number_of_polls() {
        assert_eq!(dropped_after(1, ready(7)).await, Some(7));
        assert_eq!(dropped_after(0, ready(7)).await, None);
        let twice_pending = async { tokio::task::yield_now().await };
        assert_eq!(dropped_after(2, twice_pending).await, Some(()));
        let waiting = async {
            tokio::task::yield_now().await;
            pending::<()>().await;
        };
        assert_eq!(dropped_after(2, waiting).await, None);
    }
}
