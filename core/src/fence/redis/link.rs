use std::time::Duration;

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, RedisError, Script, ScriptInvocation, Value,
};

use crate::backend::BackendError;
use crate::backend::redis::failure;
use crate::runtime::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that is made anew when it is lost.
pub(super) struct Link {
    client: Client,
    live: Mutex<Option<MultiplexedConnection>>,
    /// One caller connects, the others wait for it.
    connecting: tokio::sync::Mutex<()>,
}

impl Link {
    pub(super) fn new(client: &Client) -> Result<Self, RedisError> {
        let info = client.get_connection_info().clone();
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        #[cfg(feature = "tls-rustls")]
        crate::backend::redis::choose_provider(info.addr());
        Ok(Self {
            client: Client::open(info.set_tcp_settings(tcp))?,
            live: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        })
    }

    pub(super) async fn connect(&self) -> Result<MultiplexedConnection, BackendError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let _turn = self.connecting.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(COMMAND_TIMEOUT));
        let connect = self
            .client
            .get_multiplexed_async_connection_with_config(&settings);
        let live = bounded(CONNECT_TIMEOUT, connect).await?.map_err(failure)?;
        *self.live.lock() = Some(live.clone());
        Ok(live)
    }

    /// Runs a script, and once more on a new connection if the old one has died: its scripts may run twice.
    pub(super) async fn run(
        &self,
        script: &Script,
        key: &str,
        argument: &str,
    ) -> Result<String, BackendError> {
        let found = self.current().is_some();
        match self.run_once(script, key, argument).await {
            Err(error) if found && error.is_unrecoverable_error() => {}
            answer => return answer.map_err(Fault::into_error),
        }
        self.run_once(script, key, argument)
            .await
            .map_err(Fault::into_error)
    }

    /// Runs a script that must not run twice.
    pub(super) async fn run_at_most_once(
        &self,
        call: &ScriptInvocation<'_>,
    ) -> Result<Value, BackendError> {
        self.invoke(call).await.map_err(Fault::into_error)
    }

    async fn run_once(&self, script: &Script, key: &str, argument: &str) -> Result<String, Fault> {
        let mut call = script.key(key);
        call.arg(argument);
        self.invoke(&call).await
    }

    async fn invoke<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Fault> {
        let mut live = self.connect().await.map_err(Fault::Ours)?;
        let answer = bounded(COMMAND_TIMEOUT, call.invoke_async(&mut live)).await;
        let answer = match answer {
            Ok(answer) => answer.map_err(Fault::Theirs),
            Err(error) => Err(Fault::Ours(error)),
        };
        // One that owes an answer is left, too: where packets vanish nothing else tells.
        if answer.as_ref().is_err_and(Fault::is_of_the_connection) {
            *self.live.lock() = None;
        }
        answer
    }

    fn current(&self) -> Option<MultiplexedConnection> {
        self.live.lock().clone()
    }
}

/// What went wrong, on our side of the client or on the other.
enum Fault {
    Ours(BackendError),
    Theirs(RedisError),
}

impl Fault {
    fn is_unrecoverable_error(&self) -> bool {
        matches!(self, Self::Theirs(error) if error.is_unrecoverable_error())
    }

    fn is_of_the_connection(&self) -> bool {
        match self {
            Self::Ours(_) => true,
            Self::Theirs(error) => error.is_unrecoverable_error() || error.is_timeout(),
        }
    }

    fn into_error(self) -> BackendError {
        match self {
            Self::Ours(error) => error,
            Self::Theirs(error) => failure(error),
        }
    }
}

async fn bounded<F: Future>(limit: Duration, task: F) -> Result<F::Output, BackendError> {
    let Some(task) = timeout(limit, task) else {
        let told = "a fence can only be asked inside a tokio runtime; enter one first";
        return Err(BackendError::not_applied(told).permanent());
    };
    task.await
        .map_err(|_| BackendError::unknown("the server did not answer in time"))
}
