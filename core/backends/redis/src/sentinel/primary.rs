//! The primary that a majority of the Sentinels reports, and the query to one Sentinel.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, FromRedisValue, RedisError, ServerErrorKind, Value, from_redis_value,
};

use crate::connection::transport::{LARGEST_REPLY, OpenConnection, Target};
use crate::error::{failure, unconnected};
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::runtime::timeout;

/// The replies of the Sentinels.
pub(super) struct Votes {
    /// The number of Sentinels in the URL.
    named: usize,
    given: Vec<Primary>,
}

impl Votes {
    pub(super) fn of(named: usize) -> Self {
        Self {
            named,
            given: Vec::with_capacity(named),
        }
    }

    pub(super) fn count(&mut self, vote: Primary) {
        self.given.push(vote);
    }

    pub(super) fn are_none(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the primary that a majority of the Sentinels in the URL reports.
    pub(super) fn elected(&self) -> Option<Primary> {
        let majority = self.majority();
        let candidates = self.given.iter();
        candidates
            .map(|it| self.epochs(it))
            .zip(&self.given)
            .find_map(|(epochs, it)| {
                // This is the epoch that a majority confirms, because a single Sentinel can report any epoch.
                let epoch = *epochs.get(majority - 1)?;
                Some(Primary {
                    epoch,
                    ..it.clone()
                })
            })
    }

    /// Returns the primary that a majority reports. If too few responded for a majority, returns the primary that all
    /// of the responding Sentinels report.
    pub(super) fn elected_by_those_who_answered(&self) -> Option<Primary> {
        self.elected().or_else(|| {
            let few = self.given.len() < self.majority();
            let first = self.given.first().filter(|_| few)?;
            let epochs = self.epochs(first);
            let epoch = *epochs.last().filter(|_| epochs.len() == self.given.len())?;
            Some(Primary {
                epoch,
                ..first.clone()
            })
        })
    }

    fn majority(&self) -> usize {
        self.named / 2 + 1
    }

    /// Returns the epochs that Sentinels report for this primary, the latest first.
    fn epochs(&self, primary: &Primary) -> Vec<u64> {
        let given = self.given.iter().filter(|it| it.is_at(primary));
        let mut epochs: Vec<_> = given.map(|it| it.epoch).collect();
        epochs.sort_unstable_by(|a, b| b.cmp(a));
        epochs
    }
}

/// Formats each reply.
impl fmt::Display for Votes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Primary { host, port, .. }) in self.given.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            // The reply may contain any characters, so this escapes the name.
            write!(f, "{comma}{}:{port}", host.escape_debug())?;
        }
        Ok(())
    }
}

/// The address of the primary, and the epoch of its failover.
#[derive(Debug, Clone)]
pub(crate) struct Primary {
    pub(super) epoch: u64,
    pub(super) host: String,
    pub(super) port: u16,
}

impl Primary {
    pub(crate) fn place(&self) -> u64 {
        let mut number = DefaultHasher::new();
        (&self.host, self.port).hash(&mut number);
        number.finish()
    }

    /// Returns whether another server became the primary in a failover since `other`.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.epoch > other.epoch && !self.is_at(other)
    }

    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }
}

/// The time limit for connecting to one Sentinel, and for its reply.
const PATIENCE: Duration = Duration::from_secs(1);

/// The reason why a Sentinel does not report the primary.
pub(super) enum SentinelReply {
    /// The Sentinel does not monitor a primary of that name.
    Stranger(RedisError),
    Failed(BackendError),
}

pub(super) async fn query_once(target: &Target, name: &str) -> Result<Primary, SentinelReply> {
    let mut opened = connect(target, AsyncConnectionConfig::new()).await?;
    query(target, &mut opened.connection, name).await
}

pub(super) async fn connect(
    target: &Target,
    config: AsyncConnectionConfig,
) -> Result<OpenConnection, SentinelReply> {
    let config = config.set_response_timeout(Some(PATIENCE));
    let connecting = OpenConnection::by(target, config, PATIENCE, LARGEST_REPLY);
    let connected = bounded(target, connecting).await?;
    connected.map_err(|error| SentinelReply::Failed(unconnected(target.addr(), error)))
}

pub(super) async fn query(
    target: &Target,
    connection: &mut MultiplexedConnection,
    name: &str,
) -> Result<Primary, SentinelReply> {
    // This queries the epoch before the address. An address that is newer than its epoch only causes another query. The
    // client would accept an older address with a newer epoch.
    let mut ask = redis::pipe();
    ask.cmd("SENTINEL").arg("MASTER").arg(name);
    ask.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let answers = bounded(target, connection.send_packed_commands(&ask, 0, 2)).await?;
    let answers = answers.map_err(read_error)?;
    let [state, address] = <[Value; 2]>::try_from(answers).map_err(|_| unexpected_reply())?;
    let state: HashMap<String, String> = read(state)?;
    let address: Option<(String, u16)> = read(address)?;
    let epoch = state.get("config-epoch").and_then(|it| it.parse().ok());
    match (epoch, address) {
        (Some(epoch), Some((host, port))) => Ok(Primary { epoch, host, port }),
        _ => Err(unexpected_reply()),
    }
}

pub(super) fn read<T: FromRedisValue>(answer: Value) -> Result<T, SentinelReply> {
    let answer = answer.extract_error().map_err(read_error)?;
    from_redis_value(answer).map_err(|_| unexpected_reply())
}

fn unexpected_reply() -> SentinelReply {
    SentinelReply::Failed(BackendError::not_applied("unexpected reply of a Sentinel"))
}

pub(super) async fn bounded<T>(
    target: &Target,
    ask: impl Future<Output = T>,
) -> Result<T, SentinelReply> {
    let answer = timeout(PATIENCE, ask);
    let answer = answer.ok_or_else(|| SentinelReply::Failed(BackendError::outside_a_runtime()))?;
    answer.await.map_err(|_elapsed| {
        let at = target.addr();
        let message = format!("the Sentinel at {at} did not reply within {PATIENCE:?}");
        SentinelReply::Failed(BackendError::not_applied(message))
    })
}

pub(super) fn read_error(error: RedisError) -> SentinelReply {
    let stranger = error.kind() == ServerErrorKind::ResponseError.into()
        && error
            .detail()
            .is_some_and(|it| it.contains("No such master"));
    match stranger {
        true => SentinelReply::Stranger(error),
        false => SentinelReply::Failed(failure(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn votes(named: usize, given: &[(u64, u16)]) -> Votes {
        let mut votes = Votes::of(named);
        for &(epoch, port) in given {
            let host = "h".to_owned();
            votes.count(Primary { epoch, host, port });
        }
        votes
    }

    #[test]
    fn a_majority_of_all_sentinels_decides_whatever_the_epochs_are() {
        for (named, given, elected) in [
            (1, &[(5, 1)][..], Some((5, 1))),
            (2, &[(5, 1), (5, 1)], Some((5, 1))),
            (2, &[(5, 1), (6, 2)], None),
            (3, &[(99, 2), (1, 1), (1, 1)], Some((1, 1))),
            (3, &[(99, 1), (1, 1), (2, 1)], Some((2, 1))),
            (3, &[(99, 1), (1, 1), (2, 2)], Some((1, 1))),
            (3, &[(1, 1), (2, 2)], None),
            (3, &[(1, 1), (2, 2), (3, 3)], None),
            (3, &[], None),
            (4, &[(1, 1), (1, 1), (2, 2), (2, 2)], None),
            (5, &[(1, 1), (9, 2), (9, 2), (1, 1), (1, 1)], Some((1, 1))),
        ] {
            let elected = elected.map(|(epoch, port)| (epoch, "h".to_owned(), port));
            let parts = |it: Primary| (it.epoch, it.host, it.port);
            let votes = votes(named, given);
            assert_eq!(votes.elected().map(parts), elected, "{named} {given:?}");
            assert_eq!(votes.elected_by_those_who_answered().map(parts), elected);
        }
    }

    #[test]
    fn if_few_sentinels_reply_all_of_them_must_agree() {
        for (named, given, port) in [
            (3, &[(7, 1)][..], Some(1)),
            (5, &[(7, 1), (8, 1)], Some(1)),
            (5, &[(7, 1), (8, 2)], None),
        ] {
            let votes = votes(named, given);
            assert!(votes.elected().is_none());
            let elected = votes.elected_by_those_who_answered();
            assert_eq!(elected.as_ref().map(|it| it.port), port);
            assert!(elected.is_none_or(|it| it.epoch == 7));
        }
    }

    #[test]
    fn the_displayed_votes_escape_line_breaks() {
        let mut votes = votes(3, &[(1, 6)]);
        let host = "a\nb".to_owned();
        votes.count(Primary {
            epoch: 2,
            host,
            port: 7,
        });
        assert_eq!(votes.to_string(), "h:6, a\\nb:7");
    }

    #[test]
    fn only_a_later_failover_replaces_a_primary() {
        let primary = |epoch, port| Primary {
            epoch,
            host: "h".to_owned(),
            port,
        };
        assert!(primary(2, 7).replaces(&primary(1, 6)));
        assert!(!primary(1, 7).replaces(&primary(1, 6)));
        assert!(!primary(0, 7).replaces(&primary(1, 6)));
        assert!(!primary(2, 6).replaces(&primary(1, 6)));
    }
}
