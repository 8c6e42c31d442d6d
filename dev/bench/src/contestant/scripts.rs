use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Script};
use tokio::time::timeout;
use uuid::Uuid;

use super::{Contestant, Notifications};
use crate::BoxError;

macro_rules! scripts {
    ($($room:literal)+) => {
        concat!($(include_str!(concat!(
            "../../../../core/backends/redis/src/scripts/",
            $room,
            ".lua"
        ))),+)
    };
}

const ACQUIRE: &str = scripts!("constants" "time" "acquire_fast" "prelude" "fencing_token" "acquire_load" "queue" "acquire");
const LEAVE: &str = scripts!("constants" "release_fast" "time" "prelude" "fencing_token" "release_handoff" "release_load" "queue" "release");

/// How long a waiter waits for a notification before it polls.
const LOOK: Duration = Duration::from_secs(1);

/// The library's own scripts, called directly. The difference to the library is the overhead of the library. It has
/// tokens, a fair queue and notifications, but no renewal, loss signal or cleanup.
#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    connection: MultiplexedConnection,
    notifications: Notifications,
    channel: String,
    acquire: String,
    leave: String,
}

/// A key and its owner.
#[derive(Debug)]
pub(crate) struct Held {
    names: Names,
    owner: String,
}

/// The lock, its queue, its fence, and the tombstone of an attempt.
type Names = [String; 4];

impl Scripts {
    pub(crate) async fn enter(url: &str) -> Result<Self, BoxError> {
        let notifications = Notifications::default();
        let mut connection = super::connection(url, &notifications).await?;
        let channel = format!("by-hand:{}", Uuid::new_v4());
        connection.subscribe(&channel).await?;
        let hashes = [ACQUIRE, LEAVE].map(Script::new);
        for script in &hashes {
            script.prepare_invoke().load_async(&mut connection).await?;
        }
        let [acquire, leave] = hashes.map(|script| script.get_hash().to_owned());
        Ok(Self {
            connection,
            notifications,
            channel,
            acquire,
            leave,
        })
    }

    /// Acquires and releases keys, many in one pipeline.
    pub(crate) async fn fill(&self, keys: &[String]) -> Result<(), BoxError> {
        let mut pipeline = redis::pipe();
        for key in keys {
            let owner = Uuid::new_v4().to_string();
            let names = names(key);
            pipeline.add_command(self.ask(&names, &owner, "x")).ignore();
            pipeline
                .add_command(self.give_back(&names, &owner, ""))
                .ignore();
        }
        let mut connection = self.connection.clone();
        let () = pipeline.query_async(&mut connection).await?;
        Ok(())
    }

    /// Acquires the lock in a mode: `s` for a reader, and `p1/4` for one permit of four.
    pub(crate) async fn acquire_as(&self, key: &str, mode: &str) -> Result<Held, BoxError> {
        let names = names(key);
        let owner = Uuid::new_v4().to_string();
        let wake_up = self.notifications.enter(key, &owner);
        let mut connection = self.connection.clone();
        loop {
            let ask = self.ask(&names, &owner, mode);
            let answer: String = ask.query_async(&mut connection).await?;
            match answer.split(' ').next() {
                Some("granted") => break,
                Some("busy") => {
                    let _woken_or_not = timeout(LOOK, wake_up.rung()).await;
                    if wake_up.was_passed_on() {
                        break;
                    }
                }
                _ => return Err(format!("the script answered {answer:?}").into()),
            }
        }
        self.notifications.leave(key, &owner);
        Ok(Held { names, owner })
    }

    fn give_back(&self, names: &Names, owner: &str, next: &str) -> Cmd {
        if next.is_empty() {
            let mut leave = call(&self.leave, &names[..2]);
            leave.arg(owner);
            return leave;
        }
        let mut leave = call(&self.leave, &names[..3]);
        // duplicates, the waiter to grant to, its TTL, and that it is in the queue
        leave.arg(owner).arg(0).arg(next).arg(30_000).arg("");
        leave
    }

    fn ask(&self, names: &Names, owner: &str, mode: &str) -> Cmd {
        let mut acquire = call(&self.acquire, names);
        // ttl, expiry, notifications
        acquire
            .arg(owner)
            .arg(30_000)
            .arg(9_000_000_000_000_000_i64);
        acquire.arg(&self.channel);
        if mode != "x" {
            // previous holder, heal
            acquire.arg(mode).arg("").arg(0);
        }
        acquire
    }
}

fn names(key: &str) -> Names {
    [
        key.to_owned(),
        format!("{{{key}}}:lh1:queue"),
        format!("{{{key}}}:lh1:fence"),
        format!("{{{key}}}:lh1:sealed"),
    ]
}

fn call(hash: &str, names: &[String]) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(hash).arg(names.len()).arg(names);
    command
}

impl Contestant for Scripts {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        self.acquire_as(key, "x").await
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let next = self.notifications.first(&held.names[0]).unwrap_or_default();
        let leave = self.give_back(&held.names, &held.owner, &next);
        let mut connection = self.connection.clone();
        let answer: String = leave.query_async(&mut connection).await?;
        if answer.starts_with("left ") {
            self.notifications.pass_on(&next);
        } else if answer != "left" {
            return Err("the lock was lost".into());
        }
        Ok(())
    }
}
