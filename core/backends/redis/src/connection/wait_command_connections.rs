//! Connections for `WAIT`, which blocks its connection.

use std::time::Duration;

use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, Pipeline, RedisError, Value};

use super::transport::{LARGEST_REPLY, OpenConnection, Target};
use leasehold_core::backend::BackendError;

/// The largest number of idle connections that the pool keeps.
const KEPT: usize = 8;

/// How many replicas must acknowledge a write, and how long to wait for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicaRequirement {
    pub(crate) replicas: u32,
    pub(crate) within: Duration,
}

/// A reply of the server, and how many of its replicas acknowledged the write.
pub(crate) struct Acknowledged<T> {
    pub(crate) answer: T,
    pub(crate) acknowledged: u32,
}

impl<T> Acknowledged<T> {
    /// Creates a reply to a request that did not wait for replicas.
    pub(crate) fn unacknowledged(answer: T) -> Self {
        Self {
            answer,
            acknowledged: 0,
        }
    }
}

impl<T> Acknowledged<Vec<Result<T, BackendError>>> {
    /// Returns the reply to each of several requests.
    pub(crate) fn each(self) -> impl Iterator<Item = Result<Acknowledged<T>, BackendError>> {
        let acknowledged = self.acknowledged;
        let each = move |answer| Acknowledged {
            answer,
            acknowledged,
        };
        self.answer.into_iter().map(move |it| it.map(each))
    }
}

/// Connections to one server, each with one exchange at a time. `WAIT` blocks all commands after it, and counts only
/// the writes on the same connection.
pub(crate) struct WaitCommandPool {
    target: Target,
    idle: Mutex<Vec<OpenConnection>>,
}

impl WaitCommandPool {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            idle: Mutex::default(),
        }
    }

    /// Sends commands, and waits for the replicas. The pool does not reuse a connection if its caller did not wait for
    /// the reply.
    pub(crate) async fn exchange(
        &self,
        commands: &Pipeline,
        count: usize,
        synced: ReplicaRequirement,
        connect_timeout: Duration,
    ) -> Result<Acknowledged<Vec<Value>>, WaitError> {
        let mut all = commands.clone();
        let within = synced.within.as_millis().max(1);
        all.cmd("WAIT")
            .arg(synced.replicas)
            .arg(u64::try_from(within).unwrap_or(u64::MAX));
        let mut why: fn(RedisError) -> WaitError = WaitError::Unsent;
        let (connection, mut answer) = loop {
            let idle = self.idle.lock().pop();
            let was_idle = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect(connect_timeout).await.map_err(why)?,
            };
            let sent = connection
                .connection
                .send_packed_commands(&all, 0, count + 1);
            match sent.await {
                Ok(answer) => break (connection, answer),
                // The connection ended while it was idle. If the server has received the request in spite of the error,
                // the next request is a duplicate request.
                Err(error) if was_idle && error.is_connection_dropped() => why = WaitError::Sent,
                Err(error) => return Err(WaitError::Sent(error)),
            }
        };
        let acknowledged = match answer.pop() {
            Some(Value::Int(number)) => u32::try_from(number).unwrap_or_default(),
            // The user does not have permission for `WAIT`, or the server is a replica, where `WAIT` fails.
            Some(refused) => match refused.extract_error() {
                Ok(_) => 0,
                Err(error) => return Err(WaitError::Sent(error)),
            },
            None => 0,
        };
        let mut idle = self.idle.lock();
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(Acknowledged {
            answer,
            acknowledged,
        })
    }

    async fn connect(&self, within: Duration) -> Result<OpenConnection, RedisError> {
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        OpenConnection::by(&self.target, config, within, LARGEST_REPLY).await
    }
}

/// The reason why it is unknown whether replicas have a write.
pub(crate) enum WaitError {
    /// The client did not send the commands, because there was no connection.
    Unsent(RedisError),
    /// The server may have executed the commands.
    Sent(RedisError),
}
