-- What all scripts share. Names in parentheses are the claims of the protocol's model, `dev/model`, that a rule serves. Times are microseconds of the server's clock, whole numbers below 2^53, and
-- are formatted with %.0f: tostring would round them.
--
-- The lock's key holds the id of its only holder, or one of two marks when several may hold it at once: then `shares`
-- has a member for each share or permit, scored with the end of its lease, and the key lasts as long as the last.
local lock, fence, queue, leases, shares = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local SHARED, PERMITS = 'leasehold:shared', 'leasehold:permits'

-- How many places one call looks at, at most.
local LOOKED_AT_MOST = 1000

local holder = redis.call('GET', lock)

local function number(n)
  return string.format('%.0f', n)
end

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
  redis.call('ZREMRANGEBYSCORE', shares, '-inf', number(now))
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
-- Answers whether it came to the caller's place, or to the end without one of somebody who waits before it.
local function hand_on(caller, grant_ms)
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
        take(waiter, mode, grant_ms)
        redis.call('HSET', leases, waiter, number(now + grant_ms * 1000) .. ' ' .. mode .. ' ' .. inbox)
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
