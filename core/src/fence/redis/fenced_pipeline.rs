//! A pipeline that runs only if its fencing token is not stale.

use std::fmt;

use redis::Value;

use super::client::FenceClient;
use super::pipeline_error::FencedPipelineError;
use super::redis_reply::RedisReply;
use super::scripts::PIPELINE;
use crate::FencingToken;
use crate::backend::BackendError;
use crate::fence::Stale;

/// The most words that one command of a [`FencedPipeline`] may have: a script can hand on no more.
pub const MAX_COMMAND_WORDS: usize = 4_000;

/// Commands for a Redis server that are executed if the token is not stale, and else not. Made by
/// [`RedisFenceStore::pipeline`](crate::RedisFenceStore::pipeline).
///
/// # What is guaranteed
///
/// Token and commands are one step of the server, and nobody else's command is between them: either a newer token has
/// been there and nothing is executed, or the token is noted, as by [`admit`](crate::FenceStore::admit), and all are
/// executed in order. From then on older holders are refused. As long as the server remembers, as with every mark.
///
/// So a write that depends on what is there is two executions: one that reads, and by the same step keeps older holders
/// out, and one that writes, which is refused if a newer holder has come between.
///
/// Whoever writes without a fence is not held back.
///
/// # When a command fails
///
/// Redis takes nothing back. A command that the server refuses ends the execution: those before it have been executed,
/// it and those behind it have not; [`FencedPipelineError::Command`] says which one it was.
///
/// # Limits
///
/// - [`MAX_COMMAND_WORDS`] words per command. While it runs the server serves nobody else, as with any script.
/// - Replies of 64 MiB in all, where each part of a list counts with 64 bytes more than it has, and statuses of 64 KiB: for
///   more the connection is closed, and the source of the error is
///   [`ReplyTooLarge`](crate::backend::redis::ReplyTooLarge). The commands have been executed then.
/// - What no script may do is refused by the server: transactions, subscriptions, other scripts. Blocking commands do
///   not wait.
/// - Integers in replies are exact up to 2^53.
/// - The store's server alone: a node of a Redis Cluster refuses keys of other nodes, and nobody is redirected.
#[must_use = "a pipeline does nothing until it is executed"]
pub struct FencedPipeline<'s> {
    client: &'s FenceClient,
    /// Where the token is noted, or why it cannot be.
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

    /// Adds a command: `cmd("SET", ["stock:42", "6"])`. Numbers are written out: `7.to_string()`.
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

    /// Executes the commands, and answers one reply for each.
    ///
    /// # Errors
    ///
    /// [`FencedPipelineError::Stale`] if a newer token has been there; [`Malformed`](FencedPipelineError::Malformed)
    /// for a command without a name, or with too many words; [`Command`](FencedPipelineError::Command) if the server
    /// refuses one; [`Store`](FencedPipelineError::Store) if the resource has a name that no lock can have, or if the
    /// server fails, does not answer within 2 s, or has something else than a token as the resource's mark. Where there
    /// is no connection, to make one takes up to 5 s more. Nothing is sent twice: on a connection that has died since its
    /// last use, `applied` is unknown, and the next execution has a new one.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been executed, or may be still.
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
            let told = "the server answered something that is no pipeline's answer";
            failed(BackendError::unknown(told))
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

/// As its parts would tell secrets, and too much.
impl fmt::Debug for FencedPipeline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedPipeline")
            .field("resource", &self.resource)
            .field("token", &self.token)
            .field("commands", &self.commands.len())
            .finish_non_exhaustive()
    }
}

/// What the script answers.
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
        return Some("it has no name; name what is to be done".to_owned());
    }
    let words = command.len();
    (words > MAX_COMMAND_WORDS).then(|| {
        format!(
            "it has {words} words, and {MAX_COMMAND_WORDS} are the most; divide it into several"
        )
    })
}
