//! A client that does not hide anything.

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

/// How long we wait for an answer unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes are read at once.
const AT_ONCE: usize = 16 * 1024;

/// What a client can speak over.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection on which commands are sent and answers read, as they are: a
/// client foreign to the one under test. It never connects again by itself.
pub struct RawClient {
    stream: Box<dyn Stream>,
    frames: Frames,
    pushes: VecDeque<Value>,
    patience: Duration,
}

impl RawClient {
    /// Connects to `127.0.0.1:6379`.
    ///
    /// # Errors
    ///
    /// [`RespError::Connect`] if that fails.
    pub async fn connect(address: &str) -> Result<Self, RespError> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.and_then(|it| it.set_nodelay(true).map(|()| it));
        Self::connected(stream, address)
    }

    /// Connects to a unix socket.
    ///
    /// # Errors
    ///
    /// [`RespError::Connect`] if that fails.
    pub async fn connect_unix(path: &Path) -> Result<Self, RespError> {
        Self::connected(UnixStream::connect(path).await, &path.to_string_lossy())
    }

    /// Speaks over a connection made elsewhere, encrypted for example.
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

    /// Waits this long for an answer from now on; 10 s if nothing is said. After
    /// [`RespError::Late`], the answer may still come, to be read by
    /// [`answer`](Self::answer).
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    ///
    /// [`RespError::Refused`] if that is an error, [`RespError::Late`] if none
    /// comes, and the others if the connection does not hold.
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

    /// Sends a command and does not wait.
    ///
    /// # Errors
    ///
    /// [`RespError::Broken`] if the connection does not hold.
    pub async fn send<W: AsRef<[u8]>>(
        &mut self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<(), RespError> {
        let bytes = Command::new(words).encode();
        self.stream.write_all(&bytes).await?;
        Ok(self.stream.flush().await?)
    }

    /// The next answer, an error being one too. Pushes are kept for
    /// [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// [`RespError::Late`] if none comes, and the others if the connection does
    /// not hold.
    pub async fn answer(&mut self) -> Result<Value, RespError> {
        loop {
            match self.message().await? {
                push @ Value::Push(_) => self.pushes.push_back(push),
                answer => return Ok(answer),
            }
        }
    }

    /// The next push. An answer that comes before it is thrown away.
    ///
    /// # Errors
    ///
    /// As of [`answer`](Self::answer).
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
                // A whole frame that is no value would be an inline command.
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
