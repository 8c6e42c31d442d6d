//! Reads a stream message by message.

use tokio::io::{AsyncRead, AsyncReadExt};

use super::shared::Framing;
use crate::resp::Frames;

/// The number of bytes of one read.
const AT_ONCE: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Messages<R> {
    from: R,
    /// `None` if data is forwarded in chunks: because of the setting, or because the stream is encrypted or a dump.
    frames: Option<Frames>,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Messages<R> {
    pub(super) fn of(from: R, framing: Framing) -> Self {
        Self {
            from,
            frames: (framing == Framing::Resp).then(Frames::default),
            buffer: Vec::with_capacity(AT_ONCE),
        }
    }

    /// Returns the next message, or `None` at the end of the stream. A dropped call loses nothing.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(frames) = &mut self.frames {
                match frames.next_frame() {
                    Ok(Some(frame)) => return Some(frame),
                    Ok(None) => {}
                    Err(_) => return self.give_up(),
                }
            }
            self.buffer.clear();
            let length = self.from.read_buf(&mut self.buffer).await.unwrap_or(0);
            if length == 0 {
                // An incomplete message is forwarded unchanged.
                return self.give_up().filter(|rest| !rest.is_empty());
            }
            match &mut self.frames {
                Some(frames) => frames.push(&self.buffer),
                None => return Some(self.buffer.clone()),
            }
        }
    }

    fn give_up(&mut self) -> Option<Vec<u8>> {
        self.frames.take().map(|mut frames| frames.take_rest())
    }
}
