//! The Lua scripts, and which of them a server has loaded.

use std::sync::LazyLock;

use redis::{Cmd, Pipeline};

/// A script that runs in one atomic step on the server.
pub(crate) struct Script {
    text: &'static str,
    hash: String,
}

macro_rules! script {
    ($name:ident, $($room:literal)+) => {
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(
                $(include_str!(concat!($room, ".lua"))),+
            ))
        });
    };
}

script!(ACQUIRE, "times" "acquire_free" "words" "acquire_look" "queue" "acquire");
script!(LEAVE, "leave_unawaited" "times" "words" "leave_passing" "leave_look" "queue" "leave");
script!(RENEW_SHARE, "times" "words" "look" "queue" "renew_share");
script!(DOWNGRADE, "times" "words" "look" "queue" "downgrade");
script!(FORCE, "times" "words" "look" "queue" "force");
script!(INSPECT, "times" "words" "look" "queue" "inspect");

/// It has the first two in itself.
pub(crate) static BATCH: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
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
        include_str!("batch.lua")
    ))
});

/// It goes without what the others share.
pub(crate) static RENEW: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("renew.lua")));

impl Script {
    pub(crate) fn new(text: &'static str) -> Self {
        Self {
            text,
            hash: redis::Script::new(text).get_hash().to_owned(),
        }
    }

    /// Calls the script by its hash, so that its text is not sent each time.
    pub(crate) fn call(&self, keys: &[&str], arguments: &[&str]) -> Cmd {
        let words = keys.iter().chain(arguments);
        let bytes: usize = words.map(|word| word.len()).sum();
        let mut command = self.begin(keys.len(), arguments.len(), bytes);
        command.arg(keys).arg(arguments);
        command
    }

    /// A call without its keys and arguments, and with room for so many of so many bytes.
    pub(crate) fn begin(&self, keys: usize, arguments: usize, bytes: usize) -> Cmd {
        let mut command = Cmd::with_capacity(keys + arguments + 3, bytes + 64);
        command.arg("EVALSHA").arg(&self.hash).arg(keys);
        command
    }

    /// The same call, to which so many arguments are added.
    pub(crate) fn on(&self, keys: &[&str], arguments: usize) -> Cmd {
        let bytes: usize = keys.iter().map(|key| key.len()).sum();
        // Most arguments are ids or numbers.
        let mut command =
            Cmd::with_capacity(keys.len() + arguments + 4, bytes + 64 + 32 * arguments);
        command.arg("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        command
    }
}

/// So does this one.
pub(crate) static HAND_OVER: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("hand_over.lua")));

/// The scripts of locks on one server.
pub(crate) static ALL: ScriptSet = &[
    &ACQUIRE,
    &LEAVE,
    &BATCH,
    &RENEW,
    &RENEW_SHARE,
    &DOWNGRADE,
    &HAND_OVER,
    &FORCE,
    &INSPECT,
];

/// Scripts that belong together.
pub(crate) type ScriptSet = &'static [&'static LazyLock<Script>];

/// Makes scripts known to a server that never knew them, or has forgotten them.
pub(crate) fn load(library: ScriptSet) -> Pipeline {
    let mut pipeline = redis::pipe();
    for script in library {
        pipeline.cmd("SCRIPT").arg("LOAD").arg(script.text).ignore();
    }
    pipeline
}

#[cfg(test)]
mod tests {
    use crate::backend::redis::protocol::encode::millis_of;
    use crate::backend::redis::protocol::unanswered_requests::COPIES_LAST;
    use crate::backend::redis::timing::{FENCE_TTL, GRANT_TTL, WAITER_LEASE};

    #[test]
    fn what_the_scripts_keep_lasts_as_long_as_the_client_takes_it_to_last() {
        let [waiter, grant, fence, copies] =
            [WAITER_LEASE, GRANT_TTL, FENCE_TTL, COPIES_LAST].map(millis_of);
        let said = format!(
            "local WAITER_MS, GRANT_MS, FENCE_MS, COPIES_MS = {waiter}, {grant}, '{fence}', '{copies}'\n"
        );
        assert!(include_str!("times.lua").contains(&said), "{said}");
    }
}
