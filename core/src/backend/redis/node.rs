use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, RedisError, ServerErrorKind, Value,
};

use super::failure::failure;
use super::inbox::Inbox;
use super::{script, warning};
use crate::backend::BackendError;
use crate::runtime::{Runtime, timeout};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that leaves a PING unanswered for so long is taken for dead: where packets vanish nothing
/// else tells.
const SILENCE: Duration = Duration::from_secs(1);

/// How many commands may queue before their senders wait.
const QUEUE: usize = 1024;

/// One server, and a connection to it that is made anew when it is lost.
pub(super) struct Node {
    client: Client,
    inbox: Inbox,
    slot: Slot,
    /// One caller connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
    was_connected: AtomicBool,
}

/// Where the connection is that callers use.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<Arc<Live>>>>);

struct Live {
    connection: MultiplexedConnection,
    suspected: AtomicBool,
}

impl Node {
    pub(super) fn new(client: Client, inbox: Inbox) -> Self {
        Self {
            client,
            inbox,
            slot: Slot::default(),
            connecting: tokio::sync::Mutex::default(),
            was_connected: AtomicBool::new(false),
        }
    }

    /// Sends a command, and once more if the server has forgotten our scripts.
    pub(super) async fn call(&self, command: &Cmd) -> Result<Value, BackendError> {
        let live = self.live().await?;
        let mut answer = self.send(&live, command).await;
        if answer.as_ref().is_err_and(is_noscript) {
            self.load_scripts(&live).await?;
            answer = self.send(&live, command).await;
        }
        answer.map_err(failure)
    }

    /// Sends several commands at once: an answer for each, in order.
    pub(super) async fn call_all(
        &self,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, BackendError>>, BackendError> {
        let live = self.live().await?;
        let mut answers = self.send_all(&live, commands, count).await?;
        if answers.iter().any(|a| a.as_ref().is_err_and(is_noscript)) {
            self.load_scripts(&live).await?;
            answers = self.send_all(&live, commands, count).await?;
        }
        Ok(answers.into_iter().map(|a| a.map_err(failure)).collect())
    }

    pub(super) fn close(&self) {
        *self.slot.0.lock() = None;
    }

    async fn send(&self, live: &Arc<Live>, command: &Cmd) -> Result<Value, RedisError> {
        let listening = Listening::to(&self.slot, live);
        let mut connection = live.connection.clone();
        let answer = connection.send_packed_command(command).await;
        listening.heard(answer.as_ref().err());
        answer.and_then(Value::extract_error)
    }

    async fn send_all(
        &self,
        live: &Arc<Live>,
        commands: &Pipeline,
        count: usize,
    ) -> Result<Vec<Result<Value, RedisError>>, BackendError> {
        let listening = Listening::to(&self.slot, live);
        let mut connection = live.connection.clone();
        let answers = connection.send_packed_commands(commands, 0, count).await;
        listening.heard(answers.as_ref().err());
        let answers = answers.map_err(failure)?;
        Ok(answers.into_iter().map(Value::extract_error).collect())
    }

    async fn load_scripts(&self, live: &Arc<Live>) -> Result<(), BackendError> {
        let mut connection = live.connection.clone();
        let loaded = script::load_all().exec_async(&mut connection).await;
        loaded.map_err(failure)
    }

    async fn live(&self) -> Result<Arc<Live>, BackendError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let _turn = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let live = Arc::new(self.connect().await?);
        *self.slot.0.lock() = Some(Arc::clone(&live));
        if self.was_connected.swap(true, Ordering::AcqRel) {
            self.inbox.interruption();
        }
        Ok(live)
    }

    fn current(&self) -> Option<Arc<Live>> {
        self.slot.0.lock().clone()
    }

    async fn connect(&self) -> Result<Live, BackendError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            // Every command is bounded by the manager, which knows what it is worth waiting for.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE)
            .set_push_sender(self.inbox.clone());
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.map_err(|e| unsent(failure(e)))?;
        script::load_all()
            .exec_async(&mut connection)
            .await
            .map_err(failure)?;
        if let Err(error) = connection.subscribe(self.inbox.channel()).await {
            // Without wake-ups waiters poll.
            warning::no_wake_ups(&failure(error));
        }
        Ok(Live {
            connection,
            suspected: AtomicBool::new(false),
        })
    }
}

impl Slot {
    fn discard(&self, dead: &Arc<Live>) {
        let mut live = self.0.lock();
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, dead)) {
            *live = None;
        }
    }

    /// Finds out whether a connection that owes an answer is dead, or its caller only impatient.
    fn suspect(&self, live: &Arc<Live>) {
        let Some(runtime) = Runtime::current() else {
            return self.discard(live);
        };
        if live.suspected.swap(true, Ordering::AcqRel) {
            return;
        }
        let (slot, live) = (self.clone(), Arc::clone(live));
        runtime.spawn_here(async move {
            let mut connection = live.connection.clone();
            let ping = redis::cmd("PING");
            let answer = timeout(SILENCE, connection.send_packed_command(&ping));
            let alive = match answer {
                Some(answer) => answer.await.is_ok_and(|answer| answer.is_ok()),
                None => false,
            };
            live.suspected.store(false, Ordering::Release);
            if !alive {
                slot.discard(&live);
            }
        });
    }
}

/// Watches one exchange: an error of the connection ends it, and a missing answer makes it suspect.
struct Listening<'a> {
    slot: &'a Slot,
    live: &'a Arc<Live>,
    heard: bool,
}

impl<'a> Listening<'a> {
    fn to(slot: &'a Slot, live: &'a Arc<Live>) -> Self {
        Self {
            slot,
            live,
            heard: false,
        }
    }

    fn heard(mut self, error: Option<&RedisError>) {
        self.heard = true;
        if error.is_some_and(RedisError::is_unrecoverable_error) {
            self.slot.discard(self.live);
        }
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        if !self.heard {
            self.slot.suspect(self.live);
        }
    }
}

/// Without a connection nothing was sent, whatever the failure says of it.
fn unsent(failed: BackendError) -> BackendError {
    let unsent = BackendError::not_applied(failed.to_string());
    let unsent = match failed.is_temporary() {
        true => unsent,
        false => unsent.permanent(),
    };
    unsent.with_source(failed)
}

fn is_noscript(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The connection's settings hold a password.
        f.debug_struct("Node")
            .field("connected", &self.current().is_some())
            .finish_non_exhaustive()
    }
}
