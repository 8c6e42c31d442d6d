//! The connection between holder and supervisor: one line of JSON per message.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};

use super::command_deadline::Deadline;

/// A message of the holder.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum ToSupervisor {
    /// The first message, and each renewal.
    Deadline(Deadline),
    /// A signal for the command.
    Signal(i32),
}

/// A message of the supervisor.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum ToHolder {
    /// The command was started, as this process.
    Started(i32),
    /// The command could not be started, because of this error of the system.
    NotStarted(i32),
    /// The command was stopped, because it used the terminal in the background.
    StoppedByTerminal,
    /// The command and all processes that it has started have ended.
    Ended {
        /// The exit code of the command.
        code: u8,
        /// Whether the supervisor ended the command, because the lease was not renewed.
        lost: bool,
    },
}

/// One end of the connection.
#[derive(Debug)]
pub(super) struct Channel {
    lines: Lines<BufReader<tokio::net::UnixStream>>,
    writer: UnixStream,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let writer = stream.try_clone()?;
        let reader = BufReader::new(tokio::net::UnixStream::from_std(stream)?);
        let lines = reader.lines();
        Ok(Self { lines, writer })
    }

    /// Sends a message. Returns an error if the other process has ended, or has not read for a long time.
    pub(super) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_string(message)?;
        line.push('\n');
        self.writer.write_all(line.as_bytes())
    }

    /// Returns the next message, or `None` if the other process has ended.
    pub(super) async fn receive<M: DeserializeOwned>(&mut self) -> Option<M> {
        let line = self.lines.next_line().await.ok()??;
        serde_json::from_str(&line).ok()
    }
}

/// Sends a file descriptor. The supervisor's own input is the channel, so it receives the input for the command.
pub(super) fn send_file(stream: &UnixStream, file: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(
        stream,
        &[IoSlice::new(&[0])],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

/// Receives a file descriptor, which the processes that this process starts do not inherit.
pub(super) fn receive_file(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::empty(),
    )?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut files) = message
            && let Some(file) = files.next()
        {
            fcntl_setfd(&file, FdFlags::CLOEXEC)?;
            return Ok(file);
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
