//! A connection's stream. It yields after a bounded amount of input, and refuses a reply that is too large.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use redis::RedisError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::reply_size::{ReplySize, ReplyTooLarge};
use leasehold_core::backend::support::runtime;

/// The largest number of bytes that one poll reads. A poll can read thousands of the shortest replies, and takes less
/// than a millisecond.
const PER_POLL: usize = 16 * 1024;

/// The state of a connection's stream, for the tasks that poll the connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading(Arc<StreamState>);

#[derive(Debug, Default)]
struct StreamState {
    /// The number of bytes that the stream may still read in the current poll.
    left: AtomicUsize,
    too_large: OnceLock<ReplyTooLarge>,
    /// The first line of the server, if it is an error.
    refusal: OnceLock<String>,
}

/// The largest number of bytes of a refusal.
const LONGEST_REFUSAL: usize = 512;

impl Reading {
    /// Polls `future`, and allows [`PER_POLL`] bytes of input for each poll.
    pub(crate) async fn in_each_poll_of<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.set_left(PER_POLL);
            future.as_mut().poll(context)
        })
        .await
    }

    /// Returns the error of the reply that was too large, if there was one. The client has closed the connection
    /// because of that reply. The `redis` crate reports this error to at most one caller.
    pub(crate) fn too_large(&self) -> Option<ReplyTooLarge> {
        self.0.too_large.get().copied()
    }

    /// Returns the error with which the server has begun, if it has. A server without a free connection, for example,
    /// sends an error and closes the connection without reading a command. The command then fails without a reply.
    pub(crate) fn refusal(&self) -> Option<RedisError> {
        let line = format!("{}\r\n", self.0.refusal.get()?);
        let value = redis::parse_redis_value(line.as_bytes()).ok()?;
        value.extract_error().err()
    }

    fn note_beginning(&self, input: &[u8]) {
        let input = &input[..input.len().min(LONGEST_REFUSAL)];
        if input.starts_with(b"-")
            && let Some(end) = input.iter().position(|it| *it == b'\r')
        {
            let line = String::from_utf8_lossy(&input[..end]);
            self.0.refusal.get_or_init(|| line.into_owned());
        }
    }

    // Only one task polls the future at a time, so relaxed ordering is enough.
    fn left(&self) -> usize {
        self.0.left.load(Ordering::Relaxed)
    }

    fn set_left(&self, left: usize) {
        self.0.left.store(left, Ordering::Relaxed);
    }
}

/// Reads at most the allowed amount in each poll. After that amount, the task yields, so that the runtime polls other
/// tasks first.
///
/// The `redis` crate reads as long as there is input. With a server that sends without a pause, one poll would never
/// return, and would block a thread of the runtime.
#[derive(Debug)]
pub(crate) struct BoundedStream<S> {
    stream: S,
    reading: Reading,
    size: ReplySize,
    has_begun: bool,
}

impl<S> BoundedStream<S> {
    pub(crate) fn new(stream: S, reading: Reading, most: usize) -> Self {
        Self {
            stream,
            reading,
            size: ReplySize::at_most(most),
            has_begun: false,
        }
    }
}

impl<S: AsyncRead + Unpin> BoundedStream<S> {
    /// Reads what the server sent before it closed a connection that it has never answered on.
    fn read_refusal(&mut self, cx: &mut Context<'_>) {
        if self.has_begun {
            return;
        }
        let mut bytes = [0; LONGEST_REFUSAL];
        let mut input = ReadBuf::new(&mut bytes);
        if let Poll::Ready(Ok(())) = Pin::new(&mut self.stream).poll_read(cx, &mut input) {
            self.reading.note_beginning(input.filled());
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.reading.left();
        if left == 0 {
            runtime::poll_later(cx);
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let stream = Pin::new(&mut self.stream);
        if buf.remaining() <= left {
            ready!(stream.poll_read(cx, buf))?;
        } else {
            // The buffer has more space than `left` only after a large reply.
            let mut part = ReadBuf::new(buf.initialize_unfilled_to(left));
            ready!(stream.poll_read(cx, &mut part))?;
            let read = part.filled().len();
            buf.advance(read);
        }
        let read = &buf.filled()[before..];
        self.reading.set_left(left.saturating_sub(read.len()));
        if !self.has_begun {
            self.has_begun = true;
            self.reading.note_beginning(read);
        }
        Poll::Ready(self.size.follow(read).map_err(|too_large| {
            self.reading.0.too_large.get_or_init(|| too_large);
            too_large.into()
        }))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Err(_)) = written {
            self.read_refusal(cx);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
