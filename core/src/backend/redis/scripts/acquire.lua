-- Takes the lock, confirms a hand-off, answers a second copy of the same request, or says busy.
local owner, ttl_ms, queueing, inbox = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local sealed, expires_at = KEYS[5], tonumber(ARGV[5])
local waiter_ms, grant_ms, fence_ms, heal = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9] == '1'

-- A copy that comes after its caller has cleaned up must not take the lock (no-ghost).
if now >= expires_at or redis.call('EXISTS', sealed) == 1 then
  return {'late', number(now)}
end

local holder = redis.call('GET', lock)
local token, drawer = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')

-- A free lock is for the first in line, not for whoever comes (in-order), and those behind the caller do not count
-- (no-stall).
if not holder then
  local waiter, its_inbox = next_in_line(owner)
  if waiter and waiter ~= owner then
    grant(waiter, its_inbox, grant_ms)
    holder = waiter
  end
end

if holder and holder ~= owner then
  local left_ms = redis.call('PTTL', lock)
  if left_ms == -1 and heal then
    redis.call('PEXPIRE', lock, ttl_ms)
    left_ms = tonumber(ttl_ms)
  end
  local is_first = false
  if queueing then
    if not redis.call('ZSCORE', queue, owner) then
      local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
      redis.call('ZADD', queue, (tonumber(last[2]) or 0) + 1, owner)
    end
    redis.call('HSET', leases, owner, number(now + waiter_ms * 1000) .. ' ' .. inbox)
    redis.call('PEXPIRE', queue, waiter_ms * 4)
    redis.call('PEXPIRE', leases, waiter_ms * 4)
    is_first = redis.call('ZRANGE', queue, 0, 0)[1] == owner
  end
  return {'busy', number(now), number(left_ms), is_first and '1' or '0'}
end

-- The token was drawn by this very attempt: a second copy of the request. The drawer decides and not the place,
-- which may have ended (tokens-differ); the TTL is set anew, for the caller counts from this copy (exclusion).
if holder and drawer == owner then
  redis.call('PEXPIRE', lock, ttl_ms)
  forget(owner)
  return {'granted', number(now), token}
end

-- The time is a floor for a counter that was lost (tokens-grow).
local drawn = math.max((tonumber(token) or 0) + 1, now)
if drawn >= 9007199254740992 then
  return {'exhausted', number(now), number(drawn)}
end
redis.call('SET', lock, owner, 'PX', ttl_ms)
redis.call('SET', fence, number(drawn) .. ' ' .. owner, 'PX', fence_ms)
forget(owner)
return {'granted', number(now), number(drawn)}
