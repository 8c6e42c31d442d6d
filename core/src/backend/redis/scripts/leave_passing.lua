-- Passes a lock on to the named waiter, as `leave.lua` would, in as few steps as that needs.
-- Who names nobody need not name the fence.
local fence, named_ttl_ms = KEYS[3], ARGV[4]
-- Of one that stands in no line: from when on its request is refused.
local named_until = tonumber(ARGV[5])

if named_until then
  -- It is what the release and the attempt of the named one would do, if they came one right after the other: where
  -- somebody stands in line the named one is behind (in-order), and asks by itself. What was given up meanwhile must not
  -- take the lock (no-ghost).
  local named_seal = KEYS[7] or companion(queue, 'sealed:' .. named)
  if copies_until == 0 and redis.call('EXISTS', queue, named_seal) == 0 then
    local found = redis.call('MGET', lock, fence)
    local now, written = time()
    local token = found[2] and now < named_until and next_token(found[2], now, written)
    if token and found[1] == owner then
      -- If there is no memory for it the lock is given up all the same.
      if redis.pcall('SET', lock, named, 'PX', named_ttl_ms).ok then
        redis.call('SET', fence, token .. ' ' .. named, 'PX', FENCE_MS)
        return 'left ' .. token
      end
    end
  end
  named = nil
end

if named and copies_until == 0 and redis.call('ZRANGE', queue, 0, 0)[1] == named then
  local leases = KEYS[5] or companion(queue, 'leases')
  local found = redis.call('MGET', lock, fence)
  local now, written = time()
  local ends, mode = string.match(redis.call('HGET', leases, named) or '', '^(%d+) (%S+) ')
  local token = next_token(found[2] or '', now, written)
  if found[1] == owner and mode == 'x' and tonumber(ends) > now and token then
    -- What comes first cannot fail for want of memory; after it, nothing else does.
    redis.call('ZREM', queue, owner, named)
    redis.call('HDEL', leases, owner, named)
    redis.call('SET', lock, named, 'PX', named_ttl_ms)
    redis.call('SET', fence, token .. ' ' .. named, 'PX', FENCE_MS)
    return 'left ' .. token
  end
end
