//! The scripts, as the client sends them.

macro_rules! script {
    ($($room:literal)+) => {
        concat!($(include_str!(concat!(
            "../../../../core/src/backend/redis/scripts/",
            $room,
            ".lua"
        ))),+)
    };
}

pub(crate) const ACQUIRE: &str =
    script!("times" "acquire_free" "words" "acquire_look" "queue" "acquire");
pub(crate) const LEAVE: &str =
    script!("leave_unawaited" "times" "words" "leave_passing" "leave_look" "queue" "leave");
pub(crate) const BATCH: &str = concat!(
    script!("times" "words"),
    "local function acquire(KEYS, ARGV)\n",
    script!("acquire_free" "acquire_look" "queue" "acquire"),
    "end\nlocal function leave(KEYS, ARGV)\n",
    script!("leave_unawaited" "leave_passing" "leave_look" "queue" "leave"),
    "end\n",
    script!("batch")
);
pub(crate) const RENEW: &str = script!("renew");
pub(crate) const RENEW_SHARE: &str = script!("times" "words" "look" "queue" "renew_share");
pub(crate) const DOWNGRADE: &str = script!("times" "words" "look" "queue" "downgrade");
pub(crate) const HAND_OVER: &str = script!("hand_over");
pub(crate) const FORCE: &str = script!("times" "words" "look" "queue" "force");
pub(crate) const INSPECT: &str = script!("times" "words" "look" "queue" "inspect");

/// Any command, answered as scripts are.
pub(crate) const COMMAND: &str = "return redis.pcall(unpack(ARGV))";

/// What is in each of the keys.
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
