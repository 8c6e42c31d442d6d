//! The scripts, as the client sends them.

macro_rules! script {
    ($($room:literal)+) => {
        concat!($(include_str!(concat!(
            "../../../../../core/backends/redis/src/scripts/",
            $room,
            ".lua"
        ))),+)
    };
}

pub(crate) const ACQUIRE: &str = script!("constants" "time" "acquire_fast" "prelude" "fencing_token" "acquire_load" "queue" "acquire");
pub(crate) const LEAVE: &str = script!("constants" "release_fast" "time" "prelude" "fencing_token" "release_handoff" "release_load" "queue" "release");
pub(crate) const BATCH: &str = concat!(
    script!("constants" "time" "prelude" "fencing_token"),
    "local function acquire(KEYS, ARGV)\n",
    script!("acquire_fast" "acquire_load" "queue" "acquire"),
    "end\nlocal function release(KEYS, ARGV)\n",
    script!("release_fast" "release_handoff" "release_load" "queue" "release"),
    "end\n",
    script!("batch")
);
pub(crate) const RENEW: &str = script!("constants" "renew");
pub(crate) const RENEW_SHARE: &str =
    script!("constants" "time" "prelude" "fencing_token" "load_holder" "queue" "renew_shared");
pub(crate) const DOWNGRADE: &str =
    script!("constants" "time" "prelude" "fencing_token" "load_holder" "queue" "downgrade");
pub(crate) const HAND_OVER: &str = script!("constants" "handover_secret");
pub(crate) const FORCE: &str =
    script!("constants" "time" "prelude" "fencing_token" "load_holder" "queue" "force_release");
pub(crate) const INSPECT: &str =
    script!("constants" "time" "prelude" "fencing_token" "load_holder" "queue" "inspect");

/// A script that runs any command and returns its reply.
pub(crate) const COMMAND: &str = "return redis.pcall(unpack(ARGV))";

/// A script that returns the value of each key.
pub(crate) const DUMP: &str = "
local found = {}
for _, key in ipairs(KEYS) do
  found[#found + 1] = {
    key, redis.call('PTTL', key), redis.pcall('GET', key), redis.pcall('HGETALL', key),
    redis.pcall('ZRANGE', key, 0, -1, 'WITHSCORES'),
  }
end
return found";

pub(crate) const ALL: [&str; 11] = [
    ACQUIRE,
    LEAVE,
    BATCH,
    RENEW,
    RENEW_SHARE,
    DOWNGRADE,
    HAND_OVER,
    FORCE,
    INSPECT,
    COMMAND,
    DUMP,
];
