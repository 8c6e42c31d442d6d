//! A server that sends random replies.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::replies::{Answer, Answers};

/// The server ends when this value is dropped.
pub(crate) struct Hostile {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Hostile {
    pub(crate) async fn start(seed: u64) -> Self {
        Self::with(Answers::of(seed)).await
    }

    pub(crate) async fn with(mut answers: Answers) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Handle one connection at a time, because each client has one connection.
                talk(stream, &mut answers).await;
            }
        });
        Self { address, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn talk(mut stream: TcpStream, answers: &mut Answers) {
    let mut come = Vec::new();
    let mut chunk = [0; 4096];
    answers.connected();
    loop {
        let Ok(read @ 1..) = stream.read(&mut chunk).await else {
            return;
        };
        come.extend_from_slice(&chunk[..read]);
        for command in commands(&mut come) {
            match answers.to(&command) {
                Answer::Bytes(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Answer::Nothing => {}
                Answer::HangUp => return,
            }
        }
    }
}

/// Returns the names of the received commands. This is approximate, because the text of a script may look like several
/// commands.
pub(crate) fn commands(come: &mut Vec<u8>) -> Vec<String> {
    let text = String::from_utf8_lossy(come).into_owned();
    let Some(whole) = text.rfind("\r\n") else {
        return Vec::new();
    };
    come.clear();
    let lines: Vec<&str> = text[..whole].split("\r\n").collect();
    let starts = lines
        .windows(3)
        .filter(|it| it[0].starts_with('*') && it[1].starts_with('$'));
    starts.map(|it| it[2].to_ascii_uppercase()).collect()
}
