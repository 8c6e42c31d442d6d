-- What all scripts share. A node decides nothing by itself: a lock is held by whom a majority names, under a token on
-- which a majority agrees. Times are microseconds of the node's clock, whole numbers below 2^53, and are formatted with
-- %.0f: tostring would round them.
local lock, fence, line, places, turn, sealed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- How many places one call looks at, at most.
local LOOKED_AT_MOST = 1000

local holder = redis.call('GET', lock)

local function number(n)
  return string.format('%.0f', n)
end

-- The last token that was drawn here, and by whom.
local function record()
  local token, drawer = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
  return tonumber(token), drawer
end

local function forget(waiter)
  redis.call('ZREM', line, waiter)
  redis.call('HDEL', places, waiter)
end

-- Wakes who has waited longest, by the waiters' own clocks, so that all nodes mostly wake the same, and keeps the lock
-- for it for a moment. Places whose lease has run out are cleared away, and who does not listen is passed over. Who is
-- woken and does not ask loses its place soon, so that it delays one release and no more; should it ask later, it is
-- where it was. What cannot be written, for want of memory or of a right to the channel, must not undo the rest.
local function wake(woken_ms, turn_ms)
  local place = 0
  for _ = 1, LOOKED_AT_MOST do
    local waiter = redis.call('ZRANGE', line, place, place)[1]
    if not waiter then
      return
    end
    local ends, inbox = string.match(redis.call('HGET', places, waiter) or '', '^(%d+) (.*)$')
    if not ends or tonumber(ends) <= now then
      forget(waiter)
    else
      local listeners = redis.pcall('PUBLISH', inbox, waiter)
      if type(listeners) ~= 'number' or listeners > 0 then
        redis.pcall('HSET', places, waiter, number(math.min(ends, now + woken_ms * 1000)) .. ' ' .. inbox)
        redis.pcall('SET', turn, waiter, 'PX', turn_ms)
        return
      end
      place = place + 1
    end
  end
end
