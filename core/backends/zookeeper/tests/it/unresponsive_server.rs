//! A server that no longer answers a session, but keeps it alive.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The number of a ping. Other requests of a session have numbers from 1, or other special numbers.
const PING: i32 = -2;

/// A proxy that drops the requests of a session, but not its pings. It ends when this value is dropped.
pub(crate) struct Mute {
    port: u16,
    is_on: Arc<AtomicBool>,
    open: watch::Receiver<usize>,
    _task: JoinSet<()>,
}

impl Mute {
    pub(crate) async fn before(server_port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, server_port));
        let is_on = Arc::<AtomicBool>::default();
        let (connections, open) = watch::channel(0);
        let mut task = JoinSet::new();
        task.spawn(accept(listener, server, Arc::clone(&is_on), connections));
        Self {
            port,
            is_on,
            open,
            _task: task,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sets whether only pings arrive.
    pub(crate) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Release);
    }

    /// Returns the number of open connections.
    pub(crate) fn open(&self) -> watch::Receiver<usize> {
        self.open.clone()
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    is_on: Arc<AtomicBool>,
    connections: watch::Sender<usize>,
) {
    let mut running = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (is_on, connections) = (Arc::clone(&is_on), connections.clone());
        running.spawn(async move {
            connections.send_modify(|open| *open += 1);
            let server = TcpStream::connect(server).await.unwrap();
            let (from_client, mut to_client) = client.into_split();
            let (mut from_server, to_server) = server.into_split();
            tokio::select! {
                () = requests(from_client, to_server, &is_on) => {}
                _ended = copy(&mut from_server, &mut to_client) => {}
            }
            connections.send_modify(|open| *open -= 1);
        });
    }
}

/// Forwards requests. Each starts with its length and a number, except the first, which does not have a number.
async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, is_on: &AtomicBool) {
    let mut is_first = true;
    while let Ok(length) = from.read_u32().await {
        let mut request = vec![0; usize::try_from(length).unwrap()];
        if from.read_exact(&mut request).await.is_err() {
            return;
        }
        let is_lost = !is_first && !request.starts_with(&PING.to_be_bytes());
        is_first = false;
        if is_lost && is_on.load(Ordering::Acquire) {
            continue;
        }
        let whole = [&length.to_be_bytes(), &*request].concat();
        if to.write_all(&whole).await.is_err() {
            return;
        }
    }
}
