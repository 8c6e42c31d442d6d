//! A pipeline that runs only if its fencing token is not stale.

use std::fmt;

use redis::Value;

use super::fence_client::FenceClient;
use super::pipeline_error::FencedPipelineError;
use super::redis_reply::RedisReply;
use super::scripts::PIPELINE;
use leasehold_core::FencingToken;
use leasehold_core::Stale;
use leasehold_core::backend::BackendError;

/// The largest number of arguments of one command of a [`FencedPipeline`], including its name. A script cannot call a
/// command with more arguments.
pub const MAX_COMMAND_ARGS: usize = 4_000;

/// Commands that a Redis server executes only if the token is not stale.
/// [`RedisFenceStore::pipeline`](crate::RedisFenceStore::pipeline) returns a `FencedPipeline`.
///
/// # What is guaranteed
///
/// The server checks the token and executes the commands in one step, without commands of other clients in between. If
/// a newer token was admitted, the server executes nothing. Otherwise the server records the token, as
/// [`admit`](leasehold_core::FenceStore::admit) does, and executes all commands in order. From then on, the server rejects older
/// holders as long as it remembers the token.
///
/// So a write that depends on current data takes two executions. The first reads, and excludes older holders in the
/// same step. The second writes, and the server rejects it if it has admitted a newer token since the first.
///
/// Clients that write without a fence are not blocked.
///
/// # When a command fails
///
/// Redis does not roll back. A command that the server refuses ends the execution: earlier commands have been executed;
/// the refused command and later commands have not. [`FencedPipelineError::Command`] contains the position of the
/// refused command.
///
/// # Limits
///
/// - [`MAX_COMMAND_ARGS`] arguments per command. While the pipeline runs the server serves no other client, as with any
///   script.
/// - 64 MiB for all replies, counting 64 bytes extra for each item of a list, and 64 KiB for a status. If the replies
///   are larger, the client closes the connection, and the source of the error is
///   [`ReplyTooLarge`](crate::ReplyTooLarge). The commands have already been executed then.
/// - The server refuses commands that scripts may not call: transactions, subscriptions, other scripts. Blocking
///   commands do not wait.
/// - Integers in replies are exact up to 2^53.
/// - Commands can use only keys on the store's server: a node of a Redis Cluster refuses keys of other nodes. The
///   client does not follow redirections.
#[must_use = "a pipeline does nothing until it is executed"]
pub struct FencedPipeline<'s> {
    client: &'s FenceClient,
    /// The key where the token is recorded, or the reason why the resource's name is invalid.
    mark: Result<String, BackendError>,
    resource: String,
    token: FencingToken,
    commands: Vec<Vec<Vec<u8>>>,
}

impl<'s> FencedPipeline<'s> {
    pub(super) const fn new(
        client: &'s FenceClient,
        mark: Result<String, BackendError>,
        resource: String,
        token: FencingToken,
    ) -> Self {
        Self {
            client,
            mark,
            resource,
            token,
            commands: Vec::new(),
        }
    }

    /// Adds a command: `cmd("SET", ["stock:42", "6"])`. Write numbers as text: `7.to_string()`.
    pub fn cmd(
        mut self,
        name: impl AsRef<[u8]>,
        arguments: impl IntoIterator<Item: AsRef<[u8]>>,
    ) -> Self {
        let mut words = vec![name.as_ref().to_vec()];
        words.extend(arguments.into_iter().map(|it| it.as_ref().to_vec()));
        self.commands.push(words);
        self
    }

    /// Executes the commands, and returns one reply for each command.
    ///
    /// # Errors
    ///
    /// Returns [`FencedPipelineError::Stale`] if a newer token was admitted. Returns
    /// [`Malformed`](FencedPipelineError::Malformed) for a command without a name, or with too many arguments. Returns
    /// [`Command`](FencedPipelineError::Command) if the server refuses a command. Returns
    /// [`Store`](FencedPipelineError::Store) if the resource's name is invalid, or if its key contains a value that is
    /// not a token. Returns the same error if the server fails, or does not reply within 2 s.
    ///
    /// If no connection is open, connecting may add up to 5 s. A pipeline is never sent twice. If the connection has
    /// broken since its last use, `applied` is unknown, and the next execution uses a new connection.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the server may have executed the pipeline, or may still execute it.
    pub async fn execute(self) -> Result<Vec<RedisReply>, FencedPipelineError> {
        for (position, command) in self.commands.iter().enumerate() {
            if let Some(problem) = problem(command) {
                return Err(FencedPipelineError::Malformed { position, problem });
            }
        }
        let Self {
            client,
            mark,
            resource,
            token,
            commands,
        } = self;
        let failed = |source| FencedPipelineError::failed(&resource, source);
        let words = commands.iter().flatten();
        let (count, bytes) = words.fold((0, 0), |(count, bytes), word| {
            (count + 1, bytes + word.len())
        });
        let mut call = PIPELINE.begin(1, 1 + commands.len() + count, bytes);
        call.arg(mark.map_err(failed)?).arg(token.to_string());
        for command in &commands {
            call.arg(command.len()).arg(command);
        }
        let answer = client.call(&call).await.map_err(failed)?;
        let answer = PipelineReply::read(answer).ok_or_else(|| {
            let problem =
                "unexpected reply of the fence script; check for a proxy or another version";
            failed(BackendError::unknown(problem))
        })?;
        match answer {
            PipelineReply::Newest(current) => Err(Stale { token, current }.into()),
            PipelineReply::Executed(replies) => Ok(replies),
            PipelineReply::Refused { position, answer } => {
                let name = commands.get(position).and_then(|it| it.first());
                Err(FencedPipelineError::Command {
                    position,
                    name: String::from_utf8_lossy(name.map_or(&[], Vec::as_slice)).into_owned(),
                    answer,
                })
            }
        }
    }
}

/// Not derived, because a derived `Debug` would reveal data and be too long.
impl fmt::Debug for FencedPipeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedPipeline")
            .field("resource", &self.resource)
            .field("token", &self.token)
            .field("commands", &self.commands.len())
            .finish_non_exhaustive()
    }
}

/// The script's reply.
enum PipelineReply {
    Newest(FencingToken),
    Executed(Vec<RedisReply>),
    Refused { position: usize, answer: String },
}

impl PipelineReply {
    fn read(value: Value) -> Option<Self> {
        let Value::Array(parts) = value else {
            let newest: String = redis::from_redis_value(value).ok()?;
            return Some(Self::Newest(newest.parse().ok()?));
        };
        let mut parts = parts.into_iter();
        let RedisReply::Items(replies) = RedisReply::read(parts.next()?)? else {
            return None;
        };
        match parts.next() {
            None => Some(Self::Executed(replies)),
            Some(answer) => Some(Self::Refused {
                position: replies.len(),
                answer: redis::from_redis_value(answer).ok()?,
            }),
        }
    }
}

fn problem(command: &[Vec<u8>]) -> Option<String> {
    if command.first().is_none_or(Vec::is_empty) {
        return Some("it has no name; give a command, such as `SET`".to_owned());
    }
    let args = command.len();
    (args > MAX_COMMAND_ARGS).then(|| {
        format!("it has {args} arguments, and at most {MAX_COMMAND_ARGS} are allowed; split it")
    })
}
