//! Asking one Sentinel.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, RedisError, ServerErrorKind, Value,
    from_redis_value,
};

use super::primary::Primary;
use crate::backend::BackendError;
use crate::backend::redis::failure;
use crate::runtime::timeout;

/// How long one Sentinel may take, to connect and to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why one does not say where the primary is.
pub(super) enum Asked {
    /// It does not know a primary of that name.
    Stranger(RedisError),
    Failed(BackendError),
}

pub(super) async fn once(client: &Client, name: &str) -> Result<Primary, Asked> {
    let mut connection = connect(client, AsyncConnectionConfig::new()).await?;
    on(&mut connection, name).await
}

pub(super) async fn connect(
    client: &Client,
    config: AsyncConnectionConfig,
) -> Result<MultiplexedConnection, Asked> {
    let config = config
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    bounded(client.get_multiplexed_async_connection_with_config(&config)).await
}

pub(super) async fn on(
    connection: &mut MultiplexedConnection,
    name: &str,
) -> Result<Primary, Asked> {
    // In this order: an address that is newer than its epoch is only asked for once more, and one that is older
    // would be believed.
    let mut ask = redis::pipe();
    ask.cmd("SENTINEL").arg("MASTER").arg(name);
    ask.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let answers = bounded(connection.send_packed_commands(&ask, 0, 2)).await?;
    let [state, address] = <[Value; 2]>::try_from(answers).map_err(|_| strange())?;
    let state: HashMap<String, String> = read(state)?;
    let address: Option<(String, u16)> = read(address)?;
    let epoch = state.get("config-epoch").and_then(|it| it.parse().ok());
    match (epoch, address) {
        (Some(epoch), Some((host, port))) => Ok(Primary { epoch, host, port }),
        _ => Err(strange()),
    }
}

fn read<T: FromRedisValue>(answer: Value) -> Result<T, Asked> {
    let answer = answer.extract_error().map_err(told)?;
    from_redis_value(answer).map_err(|_| strange())
}

fn strange() -> Asked {
    Asked::Failed(BackendError::not_applied(
        "a Sentinel answered what none says",
    ))
}

async fn bounded<T>(ask: impl Future<Output = Result<T, RedisError>>) -> Result<T, Asked> {
    let answer = match timeout(PATIENCE, ask) {
        Some(answer) => answer.await,
        None => {
            let told = "Sentinels can only be asked inside a tokio runtime; enter one first";
            return Err(Asked::Failed(BackendError::not_applied(told).permanent()));
        }
    };
    match answer {
        Ok(answer) => answer.map_err(told),
        Err(_elapsed) => {
            let told = format!("a Sentinel did not answer within {PATIENCE:?}");
            Err(Asked::Failed(BackendError::not_applied(told)))
        }
    }
}

fn told(error: RedisError) -> Asked {
    let stranger = error.kind() == ServerErrorKind::ResponseError.into()
        && error
            .detail()
            .is_some_and(|it| it.contains("No such master"));
    match stranger {
        true => Asked::Stranger(error),
        false => Asked::Failed(failure(error)),
    }
}
