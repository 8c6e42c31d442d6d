use redis::aio::MultiplexedConnection;
use redis::{Cmd, Script};
use uuid::Uuid;

use super::Contestant;
use crate::BoxError;

const QUEUE: &str = include_str!("../../../../core/src/backend/redis/scripts/queue.lua");
const ACQUIRE: &str = include_str!("../../../../core/src/backend/redis/scripts/acquire.lua");
const LEAVE: &str = include_str!("../../../../core/src/backend/redis/scripts/leave.lua");

/// The library's own scripts, called by hand: what the library adds is the distance to this. Tokens and fair order,
/// but no renewal, no loss signal and no cleanup.
#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    connection: MultiplexedConnection,
    acquire: String,
    leave: String,
}

/// A key, and who holds it.
#[derive(Debug)]
pub(crate) struct Held {
    names: [String; 5],
    owner: String,
}

impl Scripts {
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        let mut connection = super::connection(url).await?;
        let mut hashes = [ACQUIRE, LEAVE].map(|text| Script::new(&format!("{QUEUE}{text}")));
        for script in &mut hashes {
            script.prepare_invoke().load_async(&mut connection).await?;
        }
        let [acquire, leave] = hashes.map(|script| script.get_hash().to_owned());
        Ok(Self {
            connection,
            acquire,
            leave,
        })
    }

    fn call(&self, hash: &str, names: &[String; 5]) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(hash).arg(names.len()).arg(names);
        command
    }
}

impl Contestant for Scripts {
    type Held = Held;

    const NAME: &str = "same scripts by hand";

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        let names = [
            key.to_owned(),
            format!("{{{key}}}:lh1:fence"),
            format!("{{{key}}}:lh1:queue"),
            format!("{{{key}}}:lh1:leases"),
            format!("{{{key}}}:lh1:sealed"),
        ];
        let owner = Uuid::new_v4().to_string();
        let mut acquire = self.call(&self.acquire, &names);
        // ttl, queue, inbox, expiry, waiter's lease, grant, fence, heal
        acquire.arg(&owner).arg(30_000).arg(0).arg("");
        acquire.arg(9_000_000_000_000_000_i64).arg(30_000);
        acquire.arg(2_000).arg(172_800_000).arg(0);
        let mut connection = self.connection.clone();
        let answer: Vec<String> = acquire.query_async(&mut connection).await?;
        match answer[..] {
            [ref verdict, _, _] if verdict == "granted" => Ok(Held { names, owner }),
            _ => Err(format!("the script answered {answer:?}").into()),
        }
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        let mut leave = self.call(&self.leave, &held.names);
        leave.arg(&held.owner).arg(2_000).arg(0);
        let mut connection = self.connection.clone();
        let answer: String = leave.query_async(&mut connection).await?;
        match answer.as_str() {
            "left" => Ok(()),
            _ => Err("the lock was lost".into()),
        }
    }
}
