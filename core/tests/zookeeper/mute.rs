//! A server that does not answer a session any more, and keeps it alive all the same.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What a ping has for a number; a session's requests count from 1, or have other names for themselves.
const PING: i32 = -2;

/// A way to a server on which the requests of a session get lost, but not its pings. It ends when this is dropped.
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

    /// From now on only pings arrive.
    pub(crate) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Release);
    }

    /// How many connections there are.
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

/// Each is its length and a number, and what else there is; the first has no number.
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
