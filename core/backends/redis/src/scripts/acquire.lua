-- Acquires the lock, confirms a grant, repeats the result of an earlier request of the attempt, or replies that the
-- lock is busy.
local kind = parse_mode(mode)

-- A duplicate request that arrives after the cleanup of its attempt must not acquire the lock (no-ghost).
if now >= expires_at or is_ended then
  return 'late ' .. now_text
end

-- If the owner has downgraded its lock since, a duplicate request must not acquire the lock exclusively, because the
-- other readers would lose the lock.
if has_share(owner) and kind ~= holder then
  return 'late ' .. now_text
end

local token, token_owner = string.match(record, '^(%d+) (.*)$')
local mine = holder == owner or has_share(owner)

if not mine and previous_owner ~= '' then
  -- In a handover, the caller accepts the lock from the previous owner if the caller's token and secret are correct.
  -- This is possible only once. The previous owner had confirmed its own grant. So the last token belongs to the
  -- previous owner, and the previous owner does not have a position in the queue. The caller knows the previous owner
  -- without its label.
  local handover, noted = KEYS[8] or aux_key(queue, 'handover'), nil
  if holder and string.sub(holder, 1, 36) == previous_owner and token_owner == holder and not redis.call('ZSCORE', queue, holder) then
    noted = redis.call('GET', handover)
  end
  if not noted or noted ~= holder .. ' ' .. (ARGV[8] or '') or not string.find(noted, ' ' .. token .. ' ', 1, true) then
    return 'spent ' .. now_text
  end
  -- From here on the previous owner cannot release the lock, so a tombstone makes the server refuse duplicate requests
  -- of the previous owner.
  redis.call('PEXPIRE', lock, ttl_ms)
  redis.call('SET', KEYS[7] or aux_key(queue, 'sealed:' .. previous_owner), '1', 'PX', REQUESTS_MS)
  redis.call('DEL', handover)
  mine = true
end

-- This grants a free lock, or a free share of a lock, to the first waiter, not to a newcomer (in-order). Waiters behind
-- the caller do not count (no-stall).
local turn = mine
if not mine and (not holder or has_many_holders()) then
  turn = grant_next(owner) and is_compatible(mode)
end

-- One key is either a lock or a semaphore.
if holder and not mine and (kind == PERMITS) ~= (holder == PERMITS) then
  return 'mixed ' .. now_text
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
  return 'busy ' .. now_text .. ' ' .. number(left_ms) .. ' ' .. (is_first and '1' or '0')
end

-- The last token belongs to this attempt, so this is a duplicate request. The token's owner decides this, not the queue
-- position, because the position may have ended (tokens-differ). This sets the TTL again, because the caller counts its
-- lease from this request (exclusion).
if mine and token_owner == owner then
  set_holder(owner, mode, ttl_ms)
  dequeue(owner)
  return 'granted ' .. now_text .. ' ' .. token
end

-- Concurrent readers have the same token, which the server generated for the first reader. With this token fences
-- reject all earlier writers, and do not reject the other readers.
if kind == SHARED and token_owner == SHARED then
  set_holder(owner, mode, ttl_ms)
  redis.call('PEXPIRE', fence, FENCE_MS)
  dequeue(owner)
  return 'granted ' .. now_text .. ' ' .. token
end

token = grant(owner, mode, ttl_ms, record)
return token and 'granted ' .. now_text .. ' ' .. token or 'exhausted ' .. now_text
