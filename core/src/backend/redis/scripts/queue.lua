-- What all scripts share. Names in parentheses are the claims of the protocol's model, `dev/model`, that a rule serves. Times are microseconds of the server's clock, whole numbers below 2^53, and
-- are formatted with %.0f: tostring would round them.
local lock, fence, queue, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- How many places one call looks at, at most.
local LOOKED_AT_MOST = 1000

local function number(n)
  return string.format('%.0f', n)
end

local function forget(owner)
  redis.call('ZREM', queue, owner)
  redis.call('HDEL', leases, owner)
end

-- The first waiter, from the front, who can be woken, or who is the caller. Places whose lease has run
-- out are cleared away (no-stall). A waiter whose process has gone does not listen any more, and is passed over at
-- once; it keeps its place until its lease ends, for it may only be reconnecting.
local function next_in_line(caller)
  local start = 0
  for _ = 1, LOOKED_AT_MOST do
    local waiter = redis.call('ZRANGE', queue, start, start)[1]
    if not waiter then
      return nil
    end
    local ends, inbox = string.match(redis.call('HGET', leases, waiter) or '', '^(%d+) (.*)$')
    if not ends or tonumber(ends) <= now then
      forget(waiter)
    elseif waiter == caller then
      return waiter, inbox
    else
      -- What cannot be sent, for want of a right to the channel, must not undo the rest.
      local listeners = redis.pcall('PUBLISH', inbox, waiter)
      if type(listeners) ~= 'number' or listeners > 0 then
        return waiter, inbox
      end
      start = start + 1
    end
  end
  return nil
end

-- Makes the next waiter the owner of a free lock for as long as it has to confirm. It keeps its place until then
-- (in-order), and the place ends with the grant, so that one who does not confirm stands in nobody's way (no-stall).
local function grant(waiter, inbox, grant_ms)
  redis.call('SET', lock, waiter, 'PX', grant_ms)
  redis.call('HSET', leases, waiter, number(now + grant_ms * 1000) .. ' ' .. inbox)
end

local function hand_on(grant_ms)
  local waiter, inbox = next_in_line(nil)
  if waiter then
    grant(waiter, inbox, grant_ms)
  end
end
