//! The scripts, as the client sends them.

macro_rules! scripts {
    ($($file:literal)+) => {
        concat!($(include_str!(concat!(
            "../../../../core/src/backend/redis/scripts/",
            $file
        ))),+)
    };
}

macro_rules! script {
    ($($look:literal)+, $file:literal) => {
        scripts!("keys.lua" $($look)+ "queue.lua" $file)
    };
}

pub(crate) const ACQUIRE: &str = script!("acquire_free.lua", "acquire.lua");
pub(crate) const LEAVE: &str = script!("leave_passing.lua" "leave_unawaited.lua", "leave.lua");
pub(crate) const RENEW: &str = scripts!("renew.lua");
pub(crate) const RENEW_SHARE: &str = script!("look.lua", "renew_share.lua");
pub(crate) const DOWNGRADE: &str = script!("look.lua", "downgrade.lua");
pub(crate) const FORCE: &str = script!("look.lua", "force.lua");
pub(crate) const INSPECT: &str = script!("look.lua", "inspect.lua");

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

pub(crate) const ALL: [&str; 9] = [
    ACQUIRE,
    LEAVE,
    RENEW,
    RENEW_SHARE,
    DOWNGRADE,
    FORCE,
    INSPECT,
    COMMAND,
    DUMP,
];
