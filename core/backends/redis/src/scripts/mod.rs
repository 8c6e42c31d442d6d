//! The Lua scripts of locks on one server, and the calls that load and execute the scripts.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline};

use super::time_limits::{FENCE_TTL, fence_step};

/// A script that runs in one atomic step on the server.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    hash: String,
}

/// The scripts of one backend. The backend's settings are constants in the scripts, because arguments cost the server
/// more.
#[derive(Debug)]
pub(crate) struct LockScripts {
    pub(crate) acquire: Script,
    /// Executes `acquire`, unless the server keeps an outcome.
    pub(crate) acquire_once: Script,
    pub(crate) record: Script,
    pub(crate) release: Script,
    /// Executes releases and acquires, as `release` and `acquire` do.
    pub(crate) batch: Script,
    pub(crate) renew: Script,
    pub(crate) renew_shared: Script,
    pub(crate) downgrade: Script,
    pub(crate) hand_over: Script,
    pub(crate) force_release: Script,
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
    /// Creates the scripts. The server keeps a key's last token for `fence_ttl`.
    pub(crate) fn new(fence_ttl: Duration) -> Self {
        let constants = constants(fence_ttl);
        Self {
            acquire: script!(constants, "time" "acquire_fast" "prelude" "fencing_token" "acquire_load" "queue" "acquire"),
            acquire_once: script!(constants, "time" "find_outcome" "acquire_fast" "prelude" "fencing_token" "acquire_load" "queue" "acquire"),
            record: script!(constants, "time" "prelude" "load_holder" "record_outcome"),
            release: script!(constants, "release_fast" "time" "prelude" "fencing_token" "release_handoff" "release_load" "queue" "release"),
            batch: Script::new(
                [
                    constants.as_str(),
                    include_str!("time.lua"),
                    include_str!("prelude.lua"),
                    include_str!("fencing_token.lua"),
                    "local function acquire(KEYS, ARGV)\n",
                    include_str!("acquire_fast.lua"),
                    include_str!("acquire_load.lua"),
                    include_str!("queue.lua"),
                    include_str!("acquire.lua"),
                    "end\nlocal function release(KEYS, ARGV)\n",
                    include_str!("release_fast.lua"),
                    include_str!("release_handoff.lua"),
                    include_str!("release_load.lua"),
                    include_str!("queue.lua"),
                    include_str!("release.lua"),
                    "end\n",
                    include_str!("batch.lua"),
                ]
                .concat(),
            ),
            renew: script!(constants, "renew"),
            renew_shared: script!(constants, "time" "prelude" "fencing_token" "load_holder" "queue" "renew_shared"),
            downgrade: script!(constants, "time" "prelude" "fencing_token" "load_holder" "queue" "downgrade"),
            hand_over: script!(constants, "handover_secret"),
            force_release: script!(constants, "time" "prelude" "fencing_token" "load_holder" "queue" "force_release"),
            inspect: script!(constants, "time" "prelude" "fencing_token" "load_holder" "queue" "inspect"),
        }
    }

    /// Returns the commands that load the scripts into a server.
    pub(crate) fn load(&self) -> Arc<Pipeline> {
        load([
            &self.acquire,
            &self.acquire_once,
            &self.record,
            &self.release,
            &self.batch,
            &self.renew,
            &self.renew_shared,
            &self.downgrade,
            &self.hand_over,
            &self.force_release,
            &self.inspect,
        ])
    }
}

/// Returns the constants of all scripts, with the backend's `fence_ttl`.
fn constants(fence_ttl: Duration) -> String {
    let [default, set] = [FENCE_TTL, fence_ttl].map(fence_constants);
    // This replaces the step first, because the step is a bare number, and the new time could contain the same digits.
    let constants = include_str!("constants.lua").replace(&default.1, &set.1);
    constants.replace(&default.0, &set.0)
}

/// Returns the text of the constants for `fence_ttl`, and for the time within which the scripts set a record's TTL only
/// once.
fn fence_constants(fence_ttl: Duration) -> (String, String) {
    let step = fence_step(fence_ttl).as_micros();
    (format!("'{}'", fence_ttl.as_millis()), step.to_string())
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

    /// Calls the script by its hash, so that the client does not send the text each time.
    pub(crate) fn call(&self, keys: &[&str], arguments: &[&str]) -> Cmd {
        let words = keys.iter().chain(arguments);
        let bytes: usize = words.map(|word| word.len()).sum();
        let mut command = self.begin(keys.len(), arguments.len(), bytes);
        command.arg(keys).arg(arguments);
        command
    }

    /// Returns a call without its keys and arguments, with space for `keys` and `arguments` of `bytes` in total.
    pub(crate) fn begin(&self, keys: usize, arguments: usize, bytes: usize) -> Cmd {
        let mut command = Cmd::with_capacity(keys + arguments + 3, bytes + 64);
        command.arg("EVALSHA").arg(&self.hash).arg(keys);
        command
    }
}

/// Returns the commands that load these scripts into a server.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_limits::{GRANT_TTL, REQUESTS_LAST, WAITER_LEASE};

    #[test]
    fn constants_of_the_scripts_are_those_of_the_client() {
        let [waiter, grant, requests] =
            [WAITER_LEASE, GRANT_TTL, REQUESTS_LAST].map(|it| it.as_millis());
        for (fence_ttl, fence, step) in [
            (FENCE_TTL, "172800000", "1000000000"),
            (FENCE_TTL / 4, "43200000", "250000000"),
            // Each setting has the default value of the other.
            (Duration::from_secs(1_000_000), "1000000000", "5787037037"),
        ] {
            let expected = format!(
                "local WAITER_MS, GRANT_MS, FENCE_MS, REQUESTS_MS, FENCE_STEP = {waiter}, {grant}, '{fence}', '{requests}', {step}\n"
            );
            assert_eq!(constants(fence_ttl), expected);
        }
    }
}
