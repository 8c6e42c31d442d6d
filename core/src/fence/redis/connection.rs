//! The connection of a Redis fence store, and its errors.

use std::sync::Arc;

use redis::{Client, FromRedisValue, RedisError, Script, ScriptInvocation};

use super::backend_connection::{COMMAND_TIMEOUT, FenceClient, LiveConnection, bounded};
use crate::backend::BackendError;
use crate::backend::redis::{READ_ONLY_FOR, SingleFlight, failure, is_readonly};

/// A connection that is made anew when it is lost.
pub(super) struct FenceConnection {
    way: Arc<FenceClient>,
    connecting: SingleFlight<Arc<LiveConnection>>,
}

impl FenceConnection {
    pub(super) fn new(client: &Client) -> Result<Self, RedisError> {
        Ok(Self {
            way: Arc::new(FenceClient::new(client)?),
            connecting: SingleFlight::default(),
        })
    }

    /// Connects for the first time. Nobody else waits for it yet, so it ends with its caller.
    pub(super) async fn open(&self) -> Result<(), BackendError> {
        self.way.open().await.map(drop)
    }

    /// Runs a script, and once more on a new connection if the old one has died: its scripts may run twice.
    pub(super) async fn run(
        &self,
        script: &Script,
        key: &str,
        argument: &str,
    ) -> Result<String, BackendError> {
        let mut call = script.key(key);
        call.arg(argument);
        if let Some(live) = self.way.live() {
            match self.invoke(&live, &call).await {
                Err(fault) if fault.is_unrecoverable_error() => {}
                answer => return answer.map_err(FenceFailure::into_error),
            }
        }
        self.run_at_most_once(&call).await
    }

    /// Runs a script that must not run twice.
    pub(super) async fn run_at_most_once<T: FromRedisValue>(
        &self,
        call: &ScriptInvocation<'_>,
    ) -> Result<T, BackendError> {
        let live = self.connect().await?;
        self.invoke(&live, call)
            .await
            .map_err(FenceFailure::into_error)
    }

    async fn connect(&self) -> Result<Arc<LiveConnection>, BackendError> {
        if let Some(live) = self.way.live() {
            return Ok(live);
        }
        let way = Arc::clone(&self.way);
        // Boxed, as it hardly ever happens: each call would be as large as this.
        Box::pin(self.connecting.join(async move || way.open().await)).await
    }

    async fn invoke<T: FromRedisValue>(
        &self,
        live: &Arc<LiveConnection>,
        call: &ScriptInvocation<'_>,
    ) -> Result<T, FenceFailure> {
        let mut connection = live.opened.connection.clone();
        let answer = bounded(COMMAND_TIMEOUT, call.invoke_async(&mut connection)).await;
        let answer = match answer {
            Ok(answer) => answer.map_err(FenceFailure::Theirs),
            Err(error) => Err(FenceFailure::Ours(error)),
        };
        // One that owes an answer is left, too: where packets vanish nothing else tells.
        if answer
            .as_ref()
            .is_err_and(|it| it.is_of_the_connection() || it.is_of_a_replica(live))
        {
            self.way.discard(live);
        }
        answer
    }
}

/// What went wrong, on our side of the client or on the other.
enum FenceFailure {
    Ours(BackendError),
    Theirs(RedisError),
}

impl FenceFailure {
    fn is_unrecoverable_error(&self) -> bool {
        matches!(self, Self::Theirs(error) if error.is_unrecoverable_error())
    }

    fn is_of_the_connection(&self) -> bool {
        match self {
            Self::Ours(_) => true,
            Self::Theirs(error) => error.is_unrecoverable_error() || error.is_timeout(),
        }
    }

    /// The server's name may lead to the new primary; if it does not, it is not asked again and again.
    fn is_of_a_replica(&self, live: &LiveConnection) -> bool {
        let is_readonly = matches!(self, Self::Theirs(error) if is_readonly(error));
        is_readonly && live.since.after(READ_ONLY_FOR).has_passed()
    }

    fn into_error(self) -> BackendError {
        match self {
            Self::Ours(error) => error,
            Self::Theirs(error) => failure(error),
        }
    }
}
