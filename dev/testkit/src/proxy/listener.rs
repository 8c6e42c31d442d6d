//! Where clients connect.

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

/// As many clients may be waiting to be accepted.
const BACKLOG: u32 = 1024;
/// After a failure to accept one.
const PAUSE: Duration = Duration::from_millis(1);

/// A listener that is deaf once it is dropped. A process that is being started
/// elsewhere has it open until it has become its program, and to close it here
/// would not keep it from accepting.
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
    pub(super) server: SocketAddr,
    /// Whether the listener should be open.
    pub(super) wanted: watch::Receiver<bool>,
    /// Whether it is.
    pub(super) open: watch::Sender<bool>,
}

impl Acceptor {
    /// The port is reserved for us, which does not keep us from listening.
    pub(super) fn listen(&self) -> io::Result<Listener> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG).map(Listener)
    }

    /// Never ends. The connections end with it.
    pub(super) async fn run(self, first: Listener) {
        let mut links = JoinSet::new();
        let mut wanted = self.wanted.clone();
        let mut listener = Some(first);
        loop {
            if *wanted.borrow_and_update() {
                // If that fails, whoever waits for it will say so.
                listener = listener.or_else(|| self.listen().ok());
            } else {
                // What is waiting to be accepted is refused, too.
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
            // It has left already, or there are too many open files.
            sleep(PAUSE).await;
            continue;
        };
        while links.try_join_next().is_some() {}
        let link = Link::new(Arc::clone(&keeper.shared));
        links.spawn(connection::run(link, client, keeper.server));
    }
}
