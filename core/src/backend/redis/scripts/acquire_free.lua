-- Takes a lock that is free and for which nobody waits, as `acquire.lua` would, in as few steps as that needs.
local owner, ttl_ms, queueing, inbox = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local expires_at, waiter_ms, grant_ms, fence_ms = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local heal, mode, giver, copies_ms = ARGV[9] == '1', ARGV[10], ARGV[11], ARGV[12]

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local found = redis.call('MGET', lock, fence, KEYS[6])
-- MGET passes over what is no string, which is to be refused.
local holder, record, sealed = found[1], found[2] or redis.call('GET', fence) or '', found[3]

if not holder and not sealed and now < expires_at and mode == 'x' and giver == ''
    and redis.call('EXISTS', queue) == 0 then
  local drawn = next_token(record, now)
  -- Nor is a key free that is no string.
  if drawn < TOKENS_END and redis.call('SET', lock, owner, 'PX', ttl_ms, 'NX') then
    local token = number(drawn)
    redis.call('SET', fence, token .. ' ' .. owner, 'PX', fence_ms)
    return 'granted ' .. (drawn == now and token or number(now)) .. ' ' .. token
  end
end
holder = holder or redis.call('GET', lock)

