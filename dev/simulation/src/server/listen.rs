//! The server on the simulated network.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;
use turmoil::net::{TcpListener, TcpStream};

use super::channels::Connection;
use super::service::SimulatedRedis;
use super::wire::take_command;

/// The port of the server.
pub(crate) const PORT: u16 = 6379;

/// Serves all connections while this process lives. Its data is stored outside of the process.
pub(crate) async fn serve(
    redis: Rc<RefCell<SimulatedRedis>>,
    clock: impl Fn() -> u64 + Copy + 'static,
) -> turmoil::Result {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        spawn_local(talk(Rc::clone(&redis), stream, clock));
    }
}

/// A connection, which is removed from the server when it ends.
struct Line {
    redis: Rc<RefCell<SimulatedRedis>>,
    connection: Connection,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.redis.borrow_mut().disconnect(self.connection);
    }
}

async fn talk(redis: Rc<RefCell<SimulatedRedis>>, mut stream: TcpStream, clock: impl Fn() -> u64) {
    let (outlet, mut letters) = unbounded_channel();
    let connection = redis.borrow_mut().connect(outlet);
    let line = Line { redis, connection };
    let mut come = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        tokio::select! {
            biased;
            letter = letters.recv() => {
                let Some(mut letter) = letter else { return };
                while let Ok(more) = letters.try_recv() {
                    letter.extend(more);
                }
                if stream.write_all(&letter).await.is_err() {
                    return;
                }
            }
            read = stream.read(&mut chunk) => {
                let Ok(count @ 1..) = read else { return };
                come.extend_from_slice(&chunk[..count]);
                while let Ok(Some(words)) = take_command(&mut come) {
                    let mut redis = line.redis.borrow_mut();
                    redis.set_clock(clock());
                    redis.serve(connection, &words);
                }
            }
        }
    }
}
