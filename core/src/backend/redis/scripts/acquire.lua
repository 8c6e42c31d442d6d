-- Takes the lock, confirms a hand-off, answers a second copy of the same request, or says busy.
local kind = divided(mode)

-- A copy that comes after its caller has cleaned up must not take the lock (no-ghost).
if now >= expires_at or sealed then
  return 'late ' .. written
end

-- So must a copy of a request whose lock was downgraded since: it would take the lock from those who share it.
if has_share(owner) and kind ~= holder then
  return 'late ' .. written
end

local token, drawer = string.match(record, '^(%d+) (.*)$')
local mine = holder == owner or has_share(owner)

if not mine and giver ~= '' then
  -- A handover: the lock passes from the giver to the caller, once, if the caller knows under which token and what the
  -- giver noted with it. The giver had confirmed its own grant: it drew last, and has no place.
  local handover, noted = KEYS[8] or companion(queue, 'handover'), nil
  if holder == giver and drawer == giver and not redis.call('ZSCORE', queue, giver) then
    noted = redis.call('GET', handover)
  end
  if not noted or noted ~= giver .. ' ' .. (ARGV[8] or '') or not string.find(noted, ' ' .. token .. ' ', 1, true) then
    return 'spent ' .. written
  end
  -- The giver cannot leave any more, so copies of its request are refused from here on.
  redis.call('PEXPIRE', lock, ttl_ms)
  redis.call('SET', KEYS[7] or companion(queue, 'sealed:' .. giver), '1', 'PX', COPIES_MS)
  redis.call('DEL', handover)
  mine = true
end

-- A lock that is free, or not all taken, is for the first in line, not for whoever comes (in-order), and those behind
-- the caller do not count (no-stall).
local turn = mine
if not mine and (not holder or is_divided()) then
  turn = hand_on(owner) and fits(mode)
end

-- Permits have nothing in common with the other modes: whoever mixes them on one key has made a mistake.
if holder and not mine and (kind == PERMITS) ~= (holder == PERMITS) then
  return 'mixed ' .. written
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
  if inbox ~= '' then
    local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
    local is_new = redis.call('ZADD', queue, 'NX', (tonumber(last[2]) or 0) + 1, owner) == 1
    redis.call('HSET', leases, owner, number(now + WAITER_MS * 1000) .. ' ' .. mode .. ' ' .. inbox)
    if redis.call('PTTL', queue) < WAITER_MS * 2 then
      redis.call('PEXPIRE', queue, WAITER_MS * 4)
      redis.call('PEXPIRE', leases, WAITER_MS * 4)
    end
    if is_new then
      is_first = not last[1]
    else
      is_first = redis.call('ZRANGE', queue, 0, 0)[1] == owner
    end
  end
  return 'busy ' .. written .. ' ' .. number(left_ms) .. ' ' .. (is_first and '1' or '0')
end

-- The token was drawn by this very attempt: a second copy of the request. The drawer decides and not the place,
-- which may have ended (tokens-differ); the TTL is set anew, for the caller counts from this copy (exclusion).
if mine and drawer == owner then
  take(owner, mode, ttl_ms)
  forget(owner)
  return 'granted ' .. written .. ' ' .. token
end

-- Readers that hold the lock together share a token, which the first of them drew: it refuses every writer before
-- them, and none of them refuses another.
if kind == SHARED and drawer == SHARED then
  take(owner, mode, ttl_ms)
  redis.call('PEXPIRE', fence, FENCE_MS)
  forget(owner)
  return 'granted ' .. written .. ' ' .. token
end

token = next_token(record, now, written)
if not token then
  return 'exhausted ' .. written
end
redis.call('SET', fence, token .. ' ' .. (kind == SHARED and SHARED or owner), 'PX', FENCE_MS)
take(owner, mode, ttl_ms)
forget(owner)
return 'granted ' .. written .. ' ' .. token
