//! A network with latency.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::set_current_timer_slack;

use super::error::ProxyError;

/// The largest chunk that is read from a connection.
const CHUNK: usize = 64 * 1024;

/// A proxy on a free port of 127.0.0.1 that delays each direction by a fixed time, which may be shorter than a
/// millisecond. Any number of chunks may be in flight, so the proxy limits the latency and not the throughput.
///
/// Each connection has its own thread, because the timers of tokio are too coarse. The proxy connects to the server
/// without a delay. All connections end when this value is dropped.
#[derive(Debug)]
#[must_use = "the proxy ends when this is dropped"]
pub struct LatencyProxy {
    address: SocketAddr,
    /// Dropping this end makes the other end readable, which ends all threads.
    _end: UnixStream,
}

impl LatencyProxy {
    /// Starts a proxy that delays each direction by `delay`.
    ///
    /// # Errors
    ///
    /// Returns [`ProxyError::Listen`] if no port is free or no thread can be started.
    pub fn start(server_port: u16, delay: Duration) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (end, ended) = UnixStream::pair()?;
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, server_port));
        let accept = move || accept(&listener, server, delay, &Arc::new(ended));
        thread::Builder::new()
            .name("latency".into())
            .spawn(accept)?;
        Ok(Self { address, _end: end })
    }

    /// Returns its port for clients.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Accepts connections until the proxy is dropped.
fn accept(listener: &TcpListener, server: SocketAddr, delay: Duration, ended: &Arc<UnixStream>) {
    loop {
        let mut polled = [
            PollFd::new(&**ended, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        if wait(&mut polled, None).is_err() || is_ready(&polled[0]) {
            return;
        }
        // If the client has already disconnected, or the server is down, the connection of the client ends.
        let Ok((client, _)) = listener.accept() else {
            continue;
        };
        let Ok(server) = TcpStream::connect(server) else {
            continue;
        };
        let ended = Arc::clone(ended);
        let carry = move || drop(carry(&client, &server, delay, &ended));
        drop(thread::Builder::new().name("latency".into()).spawn(carry));
    }
}

/// Runs a connection until both sides have ended, or the proxy is dropped.
fn carry(
    client: &TcpStream,
    server: &TcpStream,
    delay: Duration,
    ended: &UnixStream,
) -> io::Result<()> {
    // Otherwise the kernel may wake this thread 50 µs late.
    set_current_timer_slack(NonZeroU64::new(1))?;
    for stream in [client, server] {
        stream.set_nodelay(true)?;
    }
    let mut lanes = [Lane::new(client, server), Lane::new(server, client)];
    loop {
        for lane in &mut lanes {
            lane.deliver(Instant::now())?;
        }
        if lanes.iter().all(Lane::is_over) {
            return Ok(());
        }
        let mut polled = vec![PollFd::new(ended, PollFlags::IN)];
        let open = lanes.iter().filter(|lane| !lane.has_ended);
        polled.extend(open.map(|lane| PollFd::new(lane.from, PollFlags::IN)));
        let due = lanes.iter().filter_map(Lane::next).min();
        wait(&mut polled, due)?;
        if is_ready(&polled[0]) {
            return Ok(());
        }
        let ready: Vec<bool> = polled[1..].iter().map(is_ready).collect();
        let open = lanes.iter_mut().filter(|lane| !lane.has_ended);
        for (lane, _) in open.zip(ready).filter(|(_, ready)| *ready) {
            lane.receive(Instant::now() + delay)?;
        }
    }
}

/// One direction of a connection.
#[derive(Debug)]
struct Lane<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    /// The chunks, with the times at which they are due. An empty chunk is the end.
    in_flight: VecDeque<(Instant, Vec<u8>)>,
    /// Whether the sender has ended.
    has_ended: bool,
}

impl<'a> Lane<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream) -> Self {
        Self {
            from,
            to,
            in_flight: VecDeque::new(),
            has_ended: false,
        }
    }

    fn receive(&mut self, due: Instant) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let length = self.from.read(&mut chunk)?;
        chunk.truncate(length);
        self.has_ended = chunk.is_empty();
        self.in_flight.push_back((due, chunk));
        Ok(())
    }

    fn deliver(&mut self, now: Instant) -> io::Result<()> {
        while self.next().is_some_and(|due| due <= now) {
            let Some((_, chunk)) = self.in_flight.pop_front() else {
                break;
            };
            if chunk.is_empty() {
                self.to.shutdown(Shutdown::Write)?;
            } else {
                self.to.write_all(&chunk)?;
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Instant> {
        self.in_flight.front().map(|(due, _)| *due)
    }

    fn is_over(&self) -> bool {
        self.has_ended && self.in_flight.is_empty()
    }
}

/// Waits until one of these is ready, or until `due`.
fn wait(polled: &mut [PollFd<'_>], due: Option<Instant>) -> io::Result<()> {
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(polled, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn is_ready(polled: &PollFd<'_>) -> bool {
    !polled.revents().is_empty()
}
