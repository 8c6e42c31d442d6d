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

/// What the client puts before each script.
macro_rules! with_constants {
    ($($text:expr),+) => {
        concat!(
            "local WAITER_MS, GRANT_MS, FENCE_MS, COPIES_MS, FENCE_STEP = 33000, 2000, '172800000', '60000', 1000000000\n",
            $($text),+
        )
    };
}

pub(crate) const ACQUIRE: &str =
    with_constants!(script!("times" "acquire_free" "words" "acquire_look" "queue" "acquire"));
pub(crate) const LEAVE: &str = with_constants!(
    script!("leave_unawaited" "times" "words" "leave_passing" "leave_look" "queue" "leave")
);
pub(crate) const BATCH: &str = with_constants!(
    script!("times" "words"),
    "local function acquire(KEYS, ARGV)\n",
    script!("acquire_free" "acquire_look" "queue" "acquire"),
    "end\nlocal function leave(KEYS, ARGV)\n",
    script!("leave_unawaited" "leave_passing" "leave_look" "queue" "leave"),
    "end\n",
    script!("batch")
);
pub(crate) const RENEW: &str = with_constants!(script!("renew"));
pub(crate) const RENEW_SHARE: &str =
    with_constants!(script!("times" "words" "look" "queue" "renew_share"));
pub(crate) const DOWNGRADE: &str =
    with_constants!(script!("times" "words" "look" "queue" "downgrade"));
pub(crate) const HAND_OVER: &str = with_constants!(script!("hand_over"));
pub(crate) const FORCE: &str = with_constants!(script!("times" "words" "look" "queue" "force"));
pub(crate) const INSPECT: &str = with_constants!(script!("times" "words" "look" "queue" "inspect"));

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
