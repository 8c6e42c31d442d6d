//! The Lua scripts of locks on one server, and how they are called and loaded.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline};

use super::timing::{COPIES_LAST, FENCE_TTL, GRANT_TTL, WAITER_LEASE, fence_step};

/// A script that runs in one atomic step on the server.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    hash: String,
}

/// The scripts of one backend. Its settings are constants in them, because an argument costs the server more.
#[derive(Debug)]
pub(crate) struct LockScripts {
    pub(crate) acquire: Script,
    pub(crate) release: Script,
    /// Contains the first two.
    pub(crate) batch: Script,
    pub(crate) renew: Script,
    pub(crate) renew_share: Script,
    pub(crate) downgrade: Script,
    pub(crate) hand_over: Script,
    pub(crate) force: Script,
    pub(crate) inspect: Script,
}

macro_rules! script {
    ($constants:ident, $($part:literal)+) => {
        Script::new([
            $constants.as_str(),
            $(include_str!(concat!($part, ".lua"))),+
        ].concat())
    };
}

impl LockScripts {
    /// `fence_ttl` is how long a key's last token is kept.
    pub(crate) fn new(fence_ttl: Duration) -> Self {
        let constants = constants(fence_ttl);
        Self {
            acquire: script!(constants, "times" "acquire_free" "words" "acquire_look" "queue" "acquire"),
            release: script!(constants, "leave_unawaited" "times" "words" "leave_passing" "leave_look" "queue" "leave"),
            batch: Script::new(
                [
                    constants.as_str(),
                    include_str!("times.lua"),
                    include_str!("words.lua"),
                    "local function acquire(KEYS, ARGV)\n",
                    include_str!("acquire_free.lua"),
                    include_str!("acquire_look.lua"),
                    include_str!("queue.lua"),
                    include_str!("acquire.lua"),
                    "end\nlocal function leave(KEYS, ARGV)\n",
                    include_str!("leave_unawaited.lua"),
                    include_str!("leave_passing.lua"),
                    include_str!("leave_look.lua"),
                    include_str!("queue.lua"),
                    include_str!("leave.lua"),
                    "end\n",
                    include_str!("batch.lua"),
                ]
                .concat(),
            ),
            renew: script!(constants, "renew"),
            renew_share: script!(constants, "times" "words" "look" "queue" "renew_share"),
            downgrade: script!(constants, "times" "words" "look" "queue" "downgrade"),
            hand_over: script!(constants, "hand_over"),
            force: script!(constants, "times" "words" "look" "queue" "force"),
            inspect: script!(constants, "times" "words" "look" "queue" "inspect"),
        }
    }

    /// Returns what makes the scripts known to a server that never knew them, or has forgotten them.
    pub(crate) fn load(&self) -> Arc<Pipeline> {
        load([
            &self.acquire,
            &self.release,
            &self.batch,
            &self.renew,
            &self.renew_share,
            &self.downgrade,
            &self.hand_over,
            &self.force,
            &self.inspect,
        ])
    }
}

/// How long a position in the queue lasts, a grant that is not confirmed, a key's last token, and a tombstone.
fn constants(fence_ttl: Duration) -> String {
    let [waiter, grant, fence, copies] =
        [WAITER_LEASE, GRANT_TTL, fence_ttl, COPIES_LAST].map(|it| it.as_millis());
    let step = fence_step(fence_ttl).as_micros();
    format!(
        "local WAITER_MS, GRANT_MS, FENCE_MS, COPIES_MS, FENCE_STEP = {waiter}, {grant}, '{fence}', '{copies}', {step}\n"
    )
}

impl Default for LockScripts {
    fn default() -> Self {
        Self::new(FENCE_TTL)
    }
}

impl Script {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }

    /// Calls the script by its hash, so that its text is not sent each time.
    pub(crate) fn call(&self, keys: &[&str], arguments: &[&str]) -> Cmd {
        let words = keys.iter().chain(arguments);
        let bytes: usize = words.map(|word| word.len()).sum();
        let mut command = self.begin(keys.len(), arguments.len(), bytes);
        command.arg(keys).arg(arguments);
        command
    }

    /// Returns a call without its keys and arguments, and with room for `keys` and `arguments` of `bytes` in all.
    pub(crate) fn begin(&self, keys: usize, arguments: usize, bytes: usize) -> Cmd {
        let mut command = Cmd::with_capacity(keys + arguments + 3, bytes + 64);
        command.arg("EVALSHA").arg(&self.hash).arg(keys);
        command
    }

    /// Returns a call with its keys, and with room for `arguments`.
    pub(crate) fn on(&self, keys: &[&str], arguments: usize) -> Cmd {
        let bytes: usize = keys.iter().map(|key| key.len()).sum();
        // Most arguments are ids or numbers.
        let mut command = self.begin(keys.len(), arguments, bytes + 32 * arguments);
        command.arg(keys);
        command
    }
}

/// Returns what makes these scripts known to a server.
pub(crate) fn load<'a>(scripts: impl IntoIterator<Item = &'a Script>) -> Arc<Pipeline> {
    let mut pipeline = redis::pipe();
    for script in scripts {
        pipeline
            .cmd("SCRIPT")
            .arg("LOAD")
            .arg(&script.text)
            .ignore();
    }
    Arc::new(pipeline)
}
