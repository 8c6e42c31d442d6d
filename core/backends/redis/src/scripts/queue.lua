local SHARED, PERMITS = 'leasehold:shared', 'leasehold:permits'

-- The maximum number of positions that one request reads.
local MAX_POSITIONS = 1000

local function dequeue(owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', leases, owner)
end

local function has_many_holders()
  return holder == SHARED or holder == PERMITS
end

local function has_share(owner)
  return has_many_holders() and redis.call('ZSCORE', shares, owner .. ':0')
end

-- Each shared holder or permit expires with its own lease. The lock is free when the last lease ends. A server without
-- free memory refuses only the first write of a script, and never refuses this write.
if has_many_holders() then
  redis.call('ZREMRANGEBYSCORE', shares, '-inf', now_text)
  if redis.call('ZCARD', shares) == 0 then
    redis.call('DEL', lock)
    holder = false
  end
end

-- Parses a mode, which is `x` (exclusive), `u` (exclusive, and unfair), `s` (shared), or `p2/5` (two of five permits).
local function parse_mode(mode)
  local count, of = string.match(mode, '^p(%d+)/(%d+)$')
  if count then
    return PERMITS, tonumber(count), tonumber(of)
  end
  return mode == 's' and SHARED, 1, nil
end

-- Returns whether a new holder in this mode can hold the lock together with the current holders.
local function is_compatible(mode)
  if not holder then
    return true
  end
  local kind, count, of = parse_mode(mode)
  return holder == kind and (kind == SHARED or redis.call('ZCARD', shares) + count <= of)
end

-- Makes the lock's key expire with the last shared holder or permit, for programs that read only this key.
local function set_expiry_of_last_share()
  local last = redis.call('ZREVRANGE', shares, 0, 0, 'WITHSCORES')[2]
  local ends_ms = math.ceil(tonumber(last) / 1000) + 1
  redis.call('SET', lock, holder, 'PXAT', number(ends_ms))
  redis.call('PEXPIREAT', shares, number(ends_ms + 60000))
  -- A permit does not have a fencing token. The permit id only has to differ from the ids of other holders.
  if holder == PERMITS then
    redis.call('PEXPIREAT', fence, number(ends_ms + 60000))
  end
end

local function set_holder(owner, mode, ttl_ms)
  local kind, count = parse_mode(mode)
  if not kind then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    holder = owner
    return
  end
  if not holder then
    -- These entries belong to a lock that an operator has released by force.
    redis.call('DEL', shares)
    holder = kind
  end
  local ends = number(now + tonumber(ttl_ms) * 1000)
  for share = 0, count - 1 do
    redis.call('ZADD', shares, ends, owner .. ':' .. share)
  end
  set_expiry_of_last_share()
end

-- Grants the lock under the next token, and records its owner. Returns the token, or nil if no token is left.
local function grant(owner, mode, ttl_ms, record)
  local token = next_token(record, now, now_text)
  if token then
    redis.call('SET', fence, token .. ' ' .. (parse_mode(mode) == SHARED and SHARED or owner), 'PX', FENCE_MS)
    set_holder(owner, mode, ttl_ms)
    dequeue(owner)
  end
  return token
end

-- Sends a message to a waiter. Returns whether a subscriber received the message. A missing permission for the channel
-- must not stop the script. Only channels of a Cluster have a hash tag.
local function notify(inbox, message)
  return redis.pcall(string.find(inbox, '{', 1, true) and 'SPUBLISH' or 'PUBLISH', inbox, message) ~= 0
end

-- Grants the lock to the first waiters, as long as their modes are compatible. Each of these waiters holds the lock for
-- the time within which it must confirm, and keeps its position until it confirms (in-order). The position expires with
-- the grant, so a waiter that does not confirm does not delay others (no-stall). The loop does not skip a waiter with
-- an incompatible mode, so that readers do not starve a writer.
--
-- The loop removes a position with an expired lease (no-stall). The loop skips a waiter without a subscriber, because
-- the waiter's process may have ended. The waiter keeps its position until the end of the position's lease, because the
-- process may also be reconnecting. If the script does not grant the lock to a waiter, the message to that waiter names
-- no owner, and only checks for a subscriber.
--
-- An unfair waiter has no turn. Each release notifies all of these waiters, and the first of them that sends an attempt
-- acquires the lock. So a waiter that does not respond delays no other waiter (no-stall). If there is a waiter with a
-- turn, the release grants the lock to that waiter.
--
-- The successor gets no message, because the reply to this call contains its token. The successor's lease counts from
-- before the client sent this call (exclusion). The effect equals a grant and its confirmation: the successor receives
-- the lock in its turn (in-order), with a new token (backed). Until its first renewal, its TTL is only the TTL of a
-- grant.
--
-- Returns two values. The first is whether the loop reached the caller's position, or the end of the queue without a
-- waiter before the caller. The second is the successor's token, if the loop granted the lock to the successor.
local function grant_next(caller, successor)
  local place = 0
  for _ = 1, MAX_POSITIONS do
    local waiter = redis.call('ZRANGE', queue, place, place)[1]
    if not waiter then
      return true
    end
    local ends, mode, inbox = string.match(redis.call('HGET', leases, waiter) or '', '^(%d+) (%S+) (.*)$')
    if not ends or tonumber(ends) <= now then
      dequeue(waiter)
    elseif waiter == caller then
      return true
    elseif has_share(waiter) then
      place = place + 1
    elseif mode == 'u' then
      if not caller and not holder then
        notify(inbox, waiter)
      end
      place = place + 1
    elseif waiter == successor and mode == 'x' and is_compatible(mode) then
      -- MGET does not fail if another program stored another type under this key. An error must not occur here, because
      -- the lock is already released.
      local token = grant(waiter, mode, GRANT_MS, redis.call('MGET', fence)[1] or '')
      if token then
        return false, token
      end
      -- The waiter then sends a request, and receives the result of that request.
      successor = nil
    else
      local its_turn = is_compatible(mode)
      if not notify(inbox, its_turn and waiter or '') then
        place = place + 1
      elseif not its_turn then
        return false
      else
        set_holder(waiter, mode, GRANT_MS)
        redis.call('HSET', leases, waiter, number(now + GRANT_MS * 1000) .. ' ' .. mode .. ' ' .. inbox)
        if not has_many_holders() then
          return false
        end
        place = place + 1
      end
    end
  end
  return false
end

-- Ends the owner's exclusive lock, shared lock or permits. Returns whether the owner was a holder.
local function end_holds(owner)
  if holder == owner then
    redis.call('DEL', lock)
    holder = false
    return true
  end
  if not has_share(owner) then
    return false
  end
  local share = 0
  while redis.call('ZREM', shares, owner .. ':' .. share) == 1 do
    share = share + 1
  end
  if redis.call('ZCARD', shares) == 0 then
    redis.call('DEL', lock)
    holder = false
  else
    set_expiry_of_last_share()
  end
  return true
end
