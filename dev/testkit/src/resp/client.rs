//! A client without any hidden behaviour.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::command::Command;
use super::error::RespError;
use super::frames::Frames;
use super::value::Value;

/// The default timeout for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of bytes of one read.
const AT_ONCE: usize = 16 * 1024;

/// A stream for a client.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection that sends raw commands and reads raw answers. It shares no code with the tested client, and never
/// reconnects.
pub struct RawClient {
    stream: Box<dyn Stream>,
    frames: Frames,
    pushes: VecDeque<Value>,
    patience: Duration,
}

impl RawClient {
    /// Connects to an address such as `127.0.0.1:6379`.
    ///
    /// # Errors
    ///
    /// Returns [`RespError::Connect`] if that fails.
    pub async fn connect(address: &str) -> Result<Self, RespError> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.and_then(|it| it.set_nodelay(true).map(|()| it));
        Self::connected(stream, address)
    }

    /// Connects to a unix socket.
    ///
    /// # Errors
    ///
    /// Returns [`RespError::Connect`] if that fails.
    pub async fn connect_unix(path: &Path) -> Result<Self, RespError> {
        Self::connected(UnixStream::connect(path).await, &path.to_string_lossy())
    }

    /// Uses an existing connection, such as an encrypted one.
    #[must_use]
    pub fn over(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            frames: Frames::default(),
            pushes: VecDeque::new(),
            patience: PATIENCE,
        }
    }

    fn connected<S>(stream: std::io::Result<S>, to: &str) -> Result<Self, RespError>
    where
        S: Stream + 'static,
    {
        stream.map(Self::over).map_err(|source| RespError::Connect {
            to: to.to_owned(),
            source,
        })
    }

    /// Sets the timeout for later answers. The default is 10 s. After [`RespError::Late`] the answer may still arrive,
    /// and can be read with [`answer`](Self::answer).
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Sends a command, and waits for its answer.
    ///
    /// # Errors
    ///
    /// Returns [`RespError::Refused`] for an error answer, [`RespError::Late`] without an answer, and other errors if
    /// the connection fails.
    pub async fn command<W: AsRef<[u8]>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Value, RespError> {
        self.send(words).await?;
        match self.answer().await? {
            Value::Error(why) => Err(RespError::Refused(why)),
            value => Ok(value),
        }
    }

    /// Sends a command without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`RespError::Broken`] if the connection fails.
    pub async fn send<W: AsRef<[u8]>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<(), RespError> {
        let bytes = Command::new(words).encode();
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// Returns the next answer, which can be an error answer. Pushes are stored for [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// Returns [`RespError::Late`] without an answer, and other errors if the connection fails.
    pub async fn answer(&mut self) -> Result<Value, RespError> {
        loop {
            match self.message().await? {
                push @ Value::Push(_) => self.pushes.push_back(push),
                answer => return Ok(answer),
            }
        }
    }

    /// Returns the next push. Answers before it are discarded.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`answer`](Self::answer).
    pub async fn push(&mut self) -> Result<Value, RespError> {
        if let Some(push) = self.pushes.pop_front() {
            return Ok(push);
        }
        loop {
            if let push @ Value::Push(_) = self.message().await? {
                return Ok(push);
            }
        }
    }

    async fn message(&mut self) -> Result<Value, RespError> {
        let patience = self.patience;
        let message = timeout(patience, self.read_message());
        message.await.map_err(|_| RespError::Late(patience))?
    }

    async fn read_message(&mut self) -> Result<Value, RespError> {
        let mut buffer = Vec::with_capacity(AT_ONCE);
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                // A complete frame that is not a value would be an inline command.
                return Value::read(&frame).ok_or(RespError::Closed);
            }
            buffer.clear();
            if self.stream.read_buf(&mut buffer).await? == 0 {
                return Err(RespError::Closed);
            }
            self.frames.push(&buffer);
        }
    }
}

impl fmt::Debug for RawClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawClient")
            .field("patience", &self.patience)
            .field("pushes", &self.pushes)
            .finish_non_exhaustive()
    }
}
