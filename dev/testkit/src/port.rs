//! Reserves a port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

use tokio::net::TcpSocket;

/// The ports to choose from. The system takes the ports of clients, and of listeners without a number, from 32768 on, so
/// none of these can get a reserved port. A Redis of a Cluster also uses the port that is 10 000 higher.
const PORTS: Range<u16> = 10_000..20_000;

/// The number of ports that may be in use before the error is returned.
const ATTEMPTS: usize = 1000;

/// A free port of 127.0.0.1 that is reserved while this value exists, even if the server on it is down. A socket of
/// this process is bound to the port without listening. A program that binds the port by its number, as the server
/// does, still can.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _reservation: TcpSocket,
}

impl Port {
    pub(crate) fn reserve() -> io::Result<Self> {
        let mut attempts = 0;
        loop {
            let number = fastrand::u16(PORTS);
            let reservation = TcpSocket::new_v4()?;
            attempts += 1;
            match reservation.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, number))) {
                Err(error) if attempts == ATTEMPTS => return Err(error),
                Err(_is_used) => {}
                Ok(()) => {
                    // Only now, because two reservations that may share their port could get the same one.
                    reservation.set_reuseaddr(true)?;
                    return Ok(Self {
                        number,
                        _reservation: reservation,
                    });
                }
            }
        }
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}
