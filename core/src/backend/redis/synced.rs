//! Writes that replicas acknowledge.

use std::time::Duration;

use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, Client, Pipeline, RedisError, Value};

use super::dial::{LARGEST_REPLY, Opened};

/// How many idle connections are kept.
const KEPT: usize = 8;

/// How many replicas must have a write before it counts, and how long they are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Synced {
    pub(super) replicas: u32,
    pub(super) within: Duration,
}

/// What a server answered, and how many of its replicas have it.
pub(super) struct Settled<T> {
    pub(super) answer: T,
    pub(super) acknowledged: u32,
}

impl<T> Settled<T> {
    /// No replica was asked.
    pub(super) fn by_nobody(answer: T) -> Self {
        Self {
            answer,
            acknowledged: 0,
        }
    }
}

/// Connections to one server on each of which one exchange runs at a time: `WAIT` holds up all that is behind it, and
/// speaks of the writes of its own connection.
pub(super) struct Desks {
    client: Client,
    idle: Mutex<Vec<Opened>>,
}

impl Desks {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            idle: Mutex::default(),
        }
    }

    /// Sends commands, and waits for the replicas. A connection whose answer was not waited for is not used again.
    pub(super) async fn exchange(
        &self,
        commands: &Pipeline,
        count: usize,
        synced: Synced,
        connect_timeout: Duration,
    ) -> Result<Settled<Vec<Value>>, Unsettled> {
        let mut all = commands.clone();
        let within = synced.within.as_millis().max(1);
        all.cmd("WAIT")
            .arg(synced.replicas)
            .arg(u64::try_from(within).unwrap_or(u64::MAX));
        let mut why: fn(RedisError) -> Unsettled = Unsettled::Unsent;
        let (desk, mut answer) = loop {
            let idle = self.idle.lock().pop();
            let was_idle = idle.is_some();
            let mut desk = match idle {
                Some(desk) => desk,
                None => self.connect(connect_timeout).await.map_err(why)?,
            };
            let sent = desk.connection.send_packed_commands(&all, 0, count + 1);
            match sent.await {
                Ok(answer) => break (desk, answer),
                // It ended while it was idle, and nobody looked. Should the server have heard it all the same, it hears the
                // same request again.
                Err(error) if was_idle && error.is_connection_dropped() => why = Unsettled::Sent,
                Err(error) => return Err(Unsettled::Sent(error)),
            }
        };
        let acknowledged = match answer.pop() {
            Some(Value::Int(number)) => u32::try_from(number).unwrap_or_default(),
            // It may not, or cannot: a replica's WAIT is an error.
            Some(refused) => match refused.extract_error() {
                Ok(_) => 0,
                Err(error) => return Err(Unsettled::Sent(error)),
            },
            None => 0,
        };
        let mut idle = self.idle.lock();
        if idle.len() < KEPT {
            idle.push(desk);
        }
        Ok(Settled {
            answer,
            acknowledged,
        })
    }

    async fn connect(&self, within: Duration) -> Result<Opened, RedisError> {
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        Opened::by(&self.client, config, within, LARGEST_REPLY).await
    }
}

/// Why nobody can say whether replicas have a write.
pub(super) enum Unsettled {
    /// There was no connection to send it on.
    Unsent(RedisError),
    /// It may have been done.
    Sent(RedisError),
}
