//! Accepts the connections of clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection;
use super::link::Link;
use super::shared::Shared;

/// The maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// The pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(1);

/// A listener that stops accepting when it is dropped. A process that another thread is starting may have inherited the
/// socket until it executes its program. So closing the socket here would not be enough.
#[derive(Debug)]
pub(super) struct Listener(TcpListener);

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) shared: Arc<Shared>,
    pub(super) address: SocketAddr,
    /// Whether the listener should be open.
    pub(super) wanted: watch::Receiver<bool>,
    /// Whether the listener is open.
    pub(super) open: watch::Sender<bool>,
}

impl Acceptor {
    /// Listens on the port, which is reserved by a socket of this process. The reservation does not prevent it.
    pub(super) fn listen(&self) -> io::Result<Listener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG).map(Listener)
    }

    /// Accepts connections without end. Dropping this future ends the connections.
    pub(super) async fn run(self, first: Listener) {
        let mut links = JoinSet::new();
        let mut wanted = self.wanted.clone();
        let mut listener = Some(first);
        loop {
            if *wanted.borrow_and_update() {
                // If listening fails, `Proxy::accept` returns an error.
                listener = listener.or_else(|| self.listen().ok());
            } else {
                // Connections that wait to be accepted are refused, too.
                listener = None;
            }
            self.open.send_replace(listener.is_some());
            let changed = tokio::select! {
                biased;
                changed = wanted.changed() => changed,
                () = accept(&self, listener.as_ref(), &mut links) => Ok(()),
            };
            if changed.is_err() {
                return;
            }
        }
    }
}

async fn accept(keeper: &Acceptor, listener: Option<&Listener>, links: &mut JoinSet<()>) {
    loop {
        let client = match listener {
            Some(Listener(listener)) => listener.accept().await,
            None => std::future::pending().await,
        };
        let Ok((client, _)) = client else {
            // The client has already disconnected, or too many files are open.
            sleep(PAUSE).await;
            continue;
        };
        while links.try_join_next().is_some() {}
        let link = Link::new(Arc::clone(&keeper.shared));
        links.spawn(connection::run(link, client, keeper.shared.server()));
    }
}
