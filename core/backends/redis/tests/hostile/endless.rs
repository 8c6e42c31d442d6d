//! A server that replies correctly for a while, and then sends one reply without end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::replies::{Answer, Answers};
use crate::server::commands;

/// The server has its own threads, so its writes do not block a runtime.
pub(crate) struct Endless {
    address: SocketAddr,
}

impl Endless {
    /// Starts a server that replies to the command `from` with `first`, and then sends `again` repeatedly.
    pub(crate) fn start(from: &'static str, first: &[u8], again: &[u8]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let words = (first.to_vec(), again.repeat(64 * 1024 / again.len()));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, (first, again)) = (stream.unwrap(), words.clone());
                thread::spawn(move || {
                    if talk(&stream, from).is_some() {
                        // Write until the client closes the connection.
                        let mut written = (&stream).write_all(&first);
                        while written.is_ok() {
                            written = (&stream).write_all(&again);
                        }
                    }
                });
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

/// Replies to the commands before `from`. Returns `None` if the client disconnects before it.
fn talk(mut stream: &TcpStream, from: &str) -> Option<()> {
    let (mut answers, mut come, mut chunk) = (Answers::right(), Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut chunk).ok().filter(|it| *it > 0)?;
        come.extend_from_slice(&chunk[..read]);
        for command in commands(&mut come) {
            if command == from {
                // Skip the rest of a script's text, which can arrive in several parts.
                stream
                    .set_read_timeout(Some(Duration::from_millis(1)))
                    .ok()?;
                while stream.read(&mut chunk).is_ok_and(|it| it > 0) {}
                return Some(());
            }
            if let Answer::Bytes(bytes) = answers.to(&command) {
                stream.write_all(&bytes).ok()?;
            }
        }
    }
}
