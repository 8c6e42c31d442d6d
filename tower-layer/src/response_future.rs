use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;

use crate::ResponseBody;

pub(crate) type Boxed<B, E> =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody<B>>, E>> + Send>>;

pin_project! {
    /// The response future of [`LockService`](crate::LockService) and [`FenceService`](crate::FenceService).
    ///
    /// For a request that passes through, this is the service's own future without a box. If the response future is
    /// dropped before its end, it drops the service's future first and then releases the lock. With
    /// [`OnDisconnect::Continue`](crate::OnDisconnect::Continue) the service's future continues instead.
    #[must_use = "futures do nothing unless awaited"]
    pub struct ResponseFuture<F, B, E> {
        #[pin]
        state: State<F, B, E>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, B, E> {
        Passing { #[pin] service: F },
        Answered { response: Option<Response<Bytes>> },
        Guarded { work: Boxed<B, E> },
    }
}

impl<F, B, E> ResponseFuture<F, B, E> {
    pub(crate) const fn passing(service: F) -> Self {
        Self {
            state: State::Passing { service },
        }
    }

    pub(crate) const fn answered(response: Response<Bytes>) -> Self {
        Self {
            state: State::Answered {
                response: Some(response),
            },
        }
    }

    pub(crate) const fn guarded(work: Boxed<B, E>) -> Self {
        Self {
            state: State::Guarded { work },
        }
    }
}

impl<F, B, E> Future for ResponseFuture<F, B, E>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<ResponseBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passing { service } => {
                service.poll(cx).map_ok(|it| it.map(ResponseBody::passing))
            }
            StateProjection::Answered { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(ResponseBody::answer))),
                None => Poll::Pending,
            },
            StateProjection::Guarded { work } => work.as_mut().poll(cx),
        }
    }
}

impl<F, B, E> fmt::Debug for ResponseFuture<F, B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
