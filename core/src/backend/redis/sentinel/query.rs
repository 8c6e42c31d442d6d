//! Queries one Sentinel.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, FromRedisValue, RedisError, ServerErrorKind, Value, from_redis_value,
};

use super::primary::Primary;
use crate::backend::BackendError;
use crate::backend::redis::connection::transport::{LARGEST_REPLY, OpenConnection, Target};
use crate::backend::redis::error::{failure, outside_a_runtime, unconnected};
use crate::runtime::timeout;

/// The time limit for connecting to one Sentinel, and for its reply.
const PATIENCE: Duration = Duration::from_secs(1);

/// The reason why a Sentinel does not report the primary.
pub(super) enum SentinelReply {
    /// The Sentinel does not monitor a primary of that name.
    Stranger(RedisError),
    Failed(BackendError),
}

pub(super) async fn once(target: &Target, name: &str) -> Result<Primary, SentinelReply> {
    let mut opened = connect(target, AsyncConnectionConfig::new()).await?;
    on(target, &mut opened.connection, name).await
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

pub(super) async fn on(
    target: &Target,
    connection: &mut MultiplexedConnection,
    name: &str,
) -> Result<Primary, SentinelReply> {
    // The epoch is queried before the address: an address that is newer than its epoch only causes another query. An
    // older address with a newer epoch would be accepted.
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

fn read<T: FromRedisValue>(answer: Value) -> Result<T, SentinelReply> {
    let answer = answer.extract_error().map_err(read_error)?;
    from_redis_value(answer).map_err(|_| unexpected_reply())
}

fn unexpected_reply() -> SentinelReply {
    SentinelReply::Failed(BackendError::not_applied("unexpected reply of a Sentinel"))
}

async fn bounded<T>(target: &Target, ask: impl Future<Output = T>) -> Result<T, SentinelReply> {
    let answer = timeout(PATIENCE, ask);
    let answer = answer.ok_or_else(|| SentinelReply::Failed(outside_a_runtime()))?;
    answer.await.map_err(|_elapsed| {
        let at = target.addr();
        let message = format!("the Sentinel at {at} did not reply within {PATIENCE:?}");
        SentinelReply::Failed(BackendError::not_applied(message))
    })
}

fn read_error(error: RedisError) -> SentinelReply {
    let stranger = error.kind() == ServerErrorKind::ResponseError.into()
        && error
            .detail()
            .is_some_and(|it| it.contains("No such master"));
    match stranger {
        true => SentinelReply::Stranger(error),
        false => SentinelReply::Failed(failure(error)),
    }
}
