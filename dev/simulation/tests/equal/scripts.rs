//! The scripts, as the client sends them.

macro_rules! script {
    ($file:literal) => {
        concat!(
            include_str!("../../../../core/src/backend/redis/scripts/queue.lua"),
            include_str!(concat!(
                "../../../../core/src/backend/redis/scripts/",
                $file
            ))
        )
    };
}

pub(crate) const ACQUIRE: &str = script!("acquire.lua");
pub(crate) const LEAVE: &str = script!("leave.lua");
pub(crate) const RENEW: &str = script!("renew.lua");
pub(crate) const DOWNGRADE: &str = script!("downgrade.lua");
pub(crate) const FORCE: &str = script!("force.lua");
pub(crate) const INSPECT: &str = script!("inspect.lua");

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

pub(crate) const ALL: [&str; 8] = [
    ACQUIRE, LEAVE, RENEW, DOWNGRADE, FORCE, INSPECT, COMMAND, DUMP,
];
