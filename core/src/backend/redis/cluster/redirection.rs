//! Parses the MOVED, ASK, TRYAGAIN and CLUSTERDOWN errors of a Cluster.

use std::error::Error;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use super::slot_map::NodeAddr;
use crate::backend::BackendError;

pub(super) enum Redirection {
    /// The slot is another's.
    Moved(u16, NodeAddr),
    /// The slot is on its way, key by key. Scripts with several keys run in neither place meanwhile.
    Moving,
}

impl Redirection {
    /// Reads an error of a member on `host`.
    pub(super) fn of(error: &BackendError, host: &str) -> Option<Self> {
        let error: &RedisError = error.source()?.downcast_ref()?;
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::Moved) => {
                let (place, slot) = error.redirect_node()?;
                let (name, port) = place.rsplit_once(':')?;
                let host = if name.is_empty() { host } else { name };
                Some(Self::Moved(slot, (host.to_owned(), port.parse().ok()?)))
            }
            ErrorKind::Server(ServerErrorKind::Ask | ServerErrorKind::TryAgain) => {
                Some(Self::Moving)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::redis::error::failure;

    fn read(answer: &[u8]) -> Option<Redirection> {
        let error = redis::parse_redis_value(answer)
            .unwrap()
            .extract_error()
            .unwrap_err();
        Redirection::of(&failure(error), "here")
    }

    #[test]
    fn a_member_names_the_one_that_has_the_slot() {
        for (answer, host, port) in [
            (&b"-MOVED 5 there:7\r\n"[..], "there", 7),
            (b"-MOVED 5 :7\r\n", "here", 7),
            (b"-MOVED 5 ::1:7\r\n", "::1", 7),
        ] {
            let Some(Redirection::Moved(slot, place)) = read(answer) else {
                panic!("{answer:?}");
            };
            assert_eq!((slot, place), (5, (host.to_owned(), port)));
        }
        for answer in [&b"-ASK 5 there:7\r\n"[..], b"-TRYAGAIN Multiple keys\r\n"] {
            assert!(matches!(read(answer), Some(Redirection::Moving)));
        }
        assert!(read(b"-ERR other\r\n").is_none());
    }
}
