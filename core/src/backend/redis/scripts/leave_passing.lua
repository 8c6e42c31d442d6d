-- Passes a lock on to the named waiter, as `leave.lua` would, in as few steps as that needs.
local owner, grant_ms, copies_until = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local named, named_ttl_ms, fence_ms = ARGV[4], ARGV[5], ARGV[6]
-- Of one that stands in no line: from when on its request is refused.
local named_until = tonumber(ARGV[7])

if named_until then
  -- It is what the release and the attempt of the named one would do, if they came one right after the other: where
  -- somebody stands in line the named one is behind (in-order), and asks by itself.
  if copies_until == 0 and redis.call('EXISTS', queue) == 0 then
    local found = redis.call('MGET', lock, fence, KEYS[7])
    local clock = redis.call('TIME')
    local now = clock[1] * 1000000 + clock[2]
    local drawn = found[2] and next_token(found[2], now)
    -- What was given up meanwhile must not take the lock (no-ghost).
    if found[1] == owner and not found[3] and now < named_until and drawn and drawn < TOKENS_END then
      -- If there is no memory for it the lock is given up all the same.
      if redis.pcall('SET', lock, named, 'PX', named_ttl_ms).ok then
        local token = number(drawn)
        redis.call('SET', fence, token .. ' ' .. named, 'PX', fence_ms)
        return 'left ' .. token
      end
    end
  end
  named = ''
end

if named ~= '' and copies_until == 0 and redis.call('ZRANGE', queue, 0, 0)[1] == named then
  local found = redis.call('MGET', lock, fence)
  local clock = redis.call('TIME')
  local now = clock[1] * 1000000 + clock[2]
  local ends, mode = string.match(redis.call('HGET', leases, named) or '', '^(%d+) (%S+) ')
  local drawn = next_token(found[2], now)
  if found[1] == owner and mode == 'x' and tonumber(ends) > now and drawn < TOKENS_END then
    -- What comes first cannot fail for want of memory; after it, nothing else does.
    redis.call('ZREM', queue, owner, named)
    redis.call('HDEL', leases, owner, named)
    redis.call('SET', lock, named, 'PX', named_ttl_ms)
    local token = number(drawn)
    redis.call('SET', fence, token .. ' ' .. named, 'PX', fence_ms)
    return 'left ' .. token
  end
end
