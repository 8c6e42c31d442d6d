use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::lock_in_body::{Custody, Fate, Releasing};
use crate::BoxError;

/// The last frame or error of a body.
type Last = Option<Result<Frame<Bytes>, BoxError>>;

pin_project! {
    /// A body that holds a lock until its end. Drops the inner body before it releases the lock.
    pub(super) struct Held<B> {
        #[pin]
        body: Option<B>,
        custody: Option<Custody>,
        // The body returns its last frame after the lock is released. So a client can acquire the lock after it has
        // read the last frame.
        leaving: Option<(Releasing, Last)>,
    }
}

impl<B> Held<B> {
    pub(super) const fn new(body: B, custody: Custody) -> Self {
        Self {
            body: Some(body),
            custody: Some(custody),
            leaving: None,
        }
    }
}

impl<B> Held<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    pub(super) fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        loop {
            if let Some((releasing, last)) = this.leaving.as_mut() {
                let cut = ready!(releasing.as_mut().poll(cx));
                let last = match cut {
                    Some(cut) => Some(Err(cut.into())),
                    None => last.take(),
                };
                *this.leaving = None;
                return Poll::Ready(last);
            }
            if let Some(custody) = this.custody.as_mut()
                && let Poll::Ready(fate) = custody.poll_lost(cx)
            {
                match fate {
                    Fate::GoOn => *this.custody = None,
                    Fate::Cut(cut) => {
                        this.body.set(None);
                        *this.custody = None;
                        return Poll::Ready(Some(Err(cut.into())));
                    }
                }
            }
            let Some(mut body) = this.body.as_mut().as_pin_mut() else {
                return Poll::Ready(None);
            };
            let frame = ready!(match this.custody.as_ref() {
                Some(custody) => custody.poll_within(cx, |cx| body.as_mut().poll_frame(cx)),
                None => body.as_mut().poll_frame(cx),
            });
            let frame = frame.map(|it| it.map_err(Into::into));
            // Trailers are the last frame, even if the body does not report its end.
            let more = matches!(&frame, Some(Ok(frame)) if !frame.is_trailers());
            let over = !more || body.is_end_stream();
            if !over {
                return Poll::Ready(frame);
            }
            this.body.set(None);
            match this.custody.take() {
                Some(custody) => *this.leaving = Some((custody.release(), frame)),
                None => return Poll::Ready(frame),
            }
        }
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.leaving.is_none() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        let leaving = self.leaving.as_ref();
        let last = leaving.and_then(|(_, last)| last.as_ref()?.as_ref().ok()?.data_ref());
        match (&self.body, last) {
            (Some(body), _) => body.size_hint(),
            (None, last) => SizeHint::with_exact(last.map_or(0, |data| data.len() as u64)),
        }
    }
}
