use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::LockServiceError;

type Boxed<T, E> = Pin<Box<dyn Future<Output = Result<T, LockServiceError<E>>> + Send>>;

pin_project! {
    /// The response future of [`LockedService`](super::LockedService). For a call that passes through, this is the
    /// service's own future without a box.
    #[must_use = "futures do nothing unless awaited"]
    pub struct LockFuture<F, T, E> {
        #[pin]
        state: State<F, T, E>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, T, E> {
        Passing { #[pin] service: F },
        Locked { work: Boxed<T, E> },
    }
}

impl<F, T, E> LockFuture<F, T, E> {
    pub(super) const fn passing(service: F) -> Self {
        Self {
            state: State::Passing { service },
        }
    }

    pub(super) const fn locked(work: Boxed<T, E>) -> Self {
        Self {
            state: State::Locked { work },
        }
    }
}

impl<F, T, E> Future for LockFuture<F, T, E>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<T, LockServiceError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passing { service } => {
                service.poll(cx).map_err(LockServiceError::Service)
            }
            StateProjection::Locked { work } => work.as_mut().poll(cx),
        }
    }
}

impl<F, T, E> fmt::Debug for LockFuture<F, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockFuture").finish_non_exhaustive()
    }
}
