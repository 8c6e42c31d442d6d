//! Reserves a port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

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
        let reservation = TcpSocket::new_v4()?;
        reservation.set_reuseaddr(true)?;
        reservation.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(Self {
            number: reservation.local_addr()?.port(),
            _reservation: reservation,
        })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}
