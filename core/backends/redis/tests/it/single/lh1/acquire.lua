-- Takes the lock, confirms a hand-off, answers a second copy of the same request, or says busy.
local owner, ttl_ms, queueing, inbox = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]
local sealed, expires_at = KEYS[6], tonumber(ARGV[5])
local waiter_ms, grant_ms, fence_ms, heal = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9] == '1'
local mode, giver, copies_ms = ARGV[10], ARGV[11], ARGV[12]
local kind = divided(mode)

-- A copy that comes after its caller has cleaned up must not take the lock (no-ghost).
if now >= expires_at or redis.call('EXISTS', sealed) == 1 then
  return {'late', number(now)}
end

-- So must a copy of a request whose lock was downgraded since: it would take the lock from those who share it.
if has_share(owner) and kind ~= holder then
  return {'late', number(now)}
end

local token, drawer = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
local mine = holder == owner or has_share(owner)

if not mine and giver ~= '' then
  -- A handover: the lock passes from the giver to the caller, once. The giver had confirmed its own grant: it drew
  -- last, and has no place.
  if holder ~= giver or drawer ~= giver or redis.call('ZSCORE', queue, giver) then
    return {'spent', number(now)}
  end
  -- The giver cannot leave any more, so copies of its request are refused from here on.
  redis.call('PEXPIRE', lock, ttl_ms)
  redis.call('SET', KEYS[7], '1', 'PX', copies_ms)
  mine = true
end

-- A lock that is free, or not all taken, is for the first in line, not for whoever comes (in-order), and those behind
-- the caller do not count (no-stall).
local turn = mine
if not mine and (not holder or is_divided()) then
  turn = hand_on(owner, tonumber(grant_ms)) and fits(mode)
end

-- Permits have nothing in common with the other modes: whoever mixes them on one key has made a mistake.
if holder and not mine and (kind == PERMITS) ~= (holder == PERMITS) then
  return {'mixed', number(now)}
end

if not turn then
  local left_ms = redis.call('PTTL', lock)
  if left_ms == -1 and heal then
    redis.call('PEXPIRE', lock, ttl_ms)
    left_ms = tonumber(ttl_ms)
  end
  if holder == PERMITS then
    local first_to_end = redis.call('ZRANGE', shares, 0, 0, 'WITHSCORES')[2]
    left_ms = math.ceil((tonumber(first_to_end) - now) / 1000)
  end
  local is_first = false
  if queueing then
    if not redis.call('ZSCORE', queue, owner) then
      local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
      redis.call('ZADD', queue, (tonumber(last[2]) or 0) + 1, owner)
    end
    redis.call('HSET', leases, owner, number(now + waiter_ms * 1000) .. ' ' .. mode .. ' ' .. inbox)
    redis.call('PEXPIRE', queue, waiter_ms * 4)
    redis.call('PEXPIRE', leases, waiter_ms * 4)
    is_first = redis.call('ZRANGE', queue, 0, 0)[1] == owner
  end
  return {'busy', number(now), number(left_ms), is_first and '1' or '0'}
end

-- The token was drawn by this very attempt: a second copy of the request. The drawer decides and not the place,
-- which may have ended (tokens-differ); the TTL is set anew, for the caller counts from this copy (exclusion).
if mine and drawer == owner then
  take(owner, mode, ttl_ms)
  forget(owner)
  return {'granted', number(now), token}
end

-- Readers that hold the lock together share a token, which the first of them drew: it refuses every writer before
-- them, and none of them refuses another.
if kind == SHARED and drawer == SHARED then
  take(owner, mode, ttl_ms)
  redis.call('PEXPIRE', fence, fence_ms)
  forget(owner)
  return {'granted', number(now), token}
end

-- The time is a floor for a counter that was lost (tokens-grow).
local drawn = math.max((tonumber(token) or 0) + 1, now)
if drawn >= 9007199254740992 then
  return {'exhausted', number(now), number(drawn)}
end
take(owner, mode, ttl_ms)
redis.call('SET', fence, number(drawn) .. ' ' .. (kind == SHARED and SHARED or owner), 'PX', fence_ms)
forget(owner)
return {'granted', number(now), number(drawn)}
