-- What all scripts share.
local SHARED, PERMITS = 'leasehold:shared', 'leasehold:permits'

-- How many places one request looks at, at most.
local LOOKED_AT_MOST = 1000

local function forget(owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', leases, owner)
end

local function is_divided()
  return holder == SHARED or holder == PERMITS
end

local function has_share(owner)
  return is_divided() and redis.call('ZSCORE', shares, owner .. ':0')
end

-- Each share ends by its own lease, and with the last of them the lock is free. The first write of a script cannot
-- fail for want of memory, and after it none does: this one, where the lock is divided.
if is_divided() then
  redis.call('ZREMRANGEBYSCORE', shares, '-inf', written)
  if redis.call('ZCARD', shares) == 0 then
    redis.call('DEL', lock)
    holder = false
  end
end

-- How a mode is written: `x` alone, `s` with others of its kind, `p2/5` two of five permits.
local function divided(mode)
  local count, of = string.match(mode, '^p(%d+)/(%d+)$')
  if count then
    return PERMITS, tonumber(count), tonumber(of)
  end
  return mode == 's' and SHARED, 1, nil
end

-- Whether the mode can be had beside those who hold the lock now.
local function fits(mode)
  if not holder then
    return true
  end
  local kind, count, of = divided(mode)
  return holder == kind and (kind == SHARED or redis.call('ZCARD', shares) + count <= of)
end

-- The key lasts as long as its last share, for those who look at nothing else.
local function last_as_shares()
  local last = redis.call('ZREVRANGE', shares, 0, 0, 'WITHSCORES')[2]
  local ends_ms = math.ceil(tonumber(last) / 1000) + 1
  redis.call('SET', lock, holder, 'PXAT', number(ends_ms))
  redis.call('PEXPIREAT', shares, number(ends_ms + 60000))
  -- A permit has no fencing token. Its number only has to differ from those of the others.
  if holder == PERMITS then
    redis.call('PEXPIREAT', fence, number(ends_ms + 60000))
  end
end

local function take(owner, mode, ttl_ms)
  local kind, count = divided(mode)
  if not kind then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    holder = owner
    return
  end
  if not holder then
    -- Left by shares whose lock was taken from them.
    redis.call('DEL', shares)
    holder = kind
  end
  local ends = number(now + tonumber(ttl_ms) * 1000)
  for share = 0, count - 1 do
    redis.call('ZADD', shares, ends, owner .. ':' .. share)
  end
  last_as_shares()
end

-- Lets those in front have the lock, as far as they fit beside each other and beside who holds it: each becomes a
-- holder for as long as it has to confirm. It keeps its place until then (in-order), and the place ends with the
-- grant, so that one who does not confirm stands in nobody's way (no-stall). Who does not fit stops those behind it,
-- so that a writer is not starved by readers.
--
-- Places whose lease has run out are cleared away (no-stall). A waiter whose process has gone does not listen any
-- more, and is passed over at once; it keeps its place until its lease ends, for it may only be reconnecting. What
-- is published to one who does not fit names nobody: it only shows whether somebody listens.
--
-- The named one need not confirm, and need not be told: it hears of the answer to this call, which has its token
-- (exclusion: its lease counts from before this call was sent). It is what a grant and its confirmation would do
-- together, so it comes in its turn (in-order), and draws its token itself (backed).
--
-- Answers whether it came to the caller's place, or to the end without one of somebody who waits before it; and the
-- token of the named one, if the lock is its.
local function hand_on(caller, named)
  local place = 0
  for _ = 1, LOOKED_AT_MOST do
    local waiter = redis.call('ZRANGE', queue, place, place)[1]
    if not waiter then
      return true
    end
    local ends, mode, inbox = string.match(redis.call('HGET', leases, waiter) or '', '^(%d+) (%S+) (.*)$')
    if not ends or tonumber(ends) <= now then
      forget(waiter)
    elseif waiter == caller then
      return true
    elseif has_share(waiter) then
      place = place + 1
    elseif named and waiter == named.owner and mode == 'x' and fits(mode) then
      -- Where there is something else than a counter this goes on: the lock is given up already.
      local token = next_token(redis.call('MGET', fence)[1] or '', now, written)
      if token then
        take(waiter, mode, named.ttl_ms)
        redis.call('SET', fence, token .. ' ' .. waiter, 'PX', FENCE_MS)
        forget(waiter)
        return false, token
      end
      -- It finds out by itself.
      named = nil
    else
      local its_turn = fits(mode)
      -- What cannot be sent, for want of a right to the channel, must not undo the rest.
      -- A channel of a Cluster has a hash tag, and no other one has.
      local publish = string.find(inbox, '{', 1, true) and 'SPUBLISH' or 'PUBLISH'
      local listeners = redis.pcall(publish, inbox, its_turn and waiter or '')
      if type(listeners) == 'number' and listeners == 0 then
        place = place + 1
      elseif not its_turn then
        return false
      else
        take(waiter, mode, GRANT_MS)
        redis.call('HSET', leases, waiter, number(now + GRANT_MS * 1000) .. ' ' .. mode .. ' ' .. inbox)
        if not is_divided() then
          return false
        end
        place = place + 1
      end
    end
  end
  return false
end

-- Ends what the owner holds: true if it held anything.
local function give_up(owner)
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
    last_as_shares()
  end
  return true
end
