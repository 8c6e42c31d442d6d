//! Connections for WAIT, which blocks the connection it is sent on.

use std::time::Duration;

use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, Pipeline, RedisError, Value};

use super::transport::{LARGEST_REPLY, OpenConnection, Target};

/// How many idle connections are kept.
const KEPT: usize = 8;

/// How many replicas must have a write before it counts, and how long they are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicaRequirement {
    pub(crate) replicas: u32,
    pub(crate) within: Duration,
}

/// What a server answered, and how many of its replicas have it.
pub(crate) struct Acknowledged<T> {
    pub(crate) answer: T,
    pub(crate) acknowledged: u32,
}

impl<T> Acknowledged<T> {
    /// No replica was asked.
    pub(crate) fn unacknowledged(answer: T) -> Self {
        Self {
            answer,
            acknowledged: 0,
        }
    }
}

/// Connections to one server on each of which one exchange runs at a time: `WAIT` holds up all that is behind it, and
/// speaks of the writes of its own connection.
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

    /// Sends commands, and waits for the replicas. A connection whose answer was not waited for is not used again.
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
                // It ended while it was idle, and nobody looked. Should the server have heard it all the same, it hears the
                // same request again.
                Err(error) if was_idle && error.is_connection_dropped() => why = WaitError::Sent,
                Err(error) => return Err(WaitError::Sent(error)),
            }
        };
        let acknowledged = match answer.pop() {
            Some(Value::Int(number)) => u32::try_from(number).unwrap_or_default(),
            // It may not, or cannot: a replica's WAIT is an error.
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

/// Why nobody can say whether replicas have a write.
pub(crate) enum WaitError {
    /// There was no connection to send it on.
    Unsent(RedisError),
    /// It may have been done.
    Sent(RedisError),
}
