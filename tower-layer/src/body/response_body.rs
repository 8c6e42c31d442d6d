use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::Custody;
use super::body_under_lock::Held;
use crate::BoxError;

pin_project! {
    /// The body of a response: the body of the service, or the text of a refusal.
    ///
    /// With [`LockLayer::until_body_end`](crate::LockLayer::until_body_end) the body holds the lock. It releases the
    /// lock when it ends, fails, is dropped or reaches its time limit. The body returns its last frame or its trailers
    /// after the release.
    ///
    /// If a server drops the body before its end, the body releases the lock in the background. Servers drop a body
    /// early if they know its length, or if the client does not read it.
    pub struct ResponseBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<B> {
        Passing { #[pin] body: B },
        Answer { text: Option<Bytes> },
        Held { #[pin] held: Held<B> },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) const fn passing(body: B) -> Self {
        Self {
            kind: Kind::Passing { body },
        }
    }

    pub(crate) fn answer(text: Bytes) -> Self {
        let text = (!text.is_empty()).then_some(text);
        Self {
            kind: Kind::Answer { text },
        }
    }

    pub(crate) const fn held(body: B, custody: Custody) -> Self {
        Self {
            kind: Kind::Held {
                held: Held::new(body, custody),
            },
        }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().kind.project() {
            KindProjection::Passing { body } => body.poll_frame(cx).map_err(Into::into),
            KindProjection::Answer { text } => {
                Poll::Ready(text.take().map(|it| Ok(Frame::data(it))))
            }
            KindProjection::Held { held } => held.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passing { body } => body.is_end_stream(),
            Kind::Answer { text } => text.is_none(),
            Kind::Held { held } => held.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Passing { body } => body.size_hint(),
            Kind::Answer { text } => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            Kind::Held { held } => held.size_hint(),
        }
    }
}

impl<B> fmt::Debug for ResponseBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").finish_non_exhaustive()
    }
}
