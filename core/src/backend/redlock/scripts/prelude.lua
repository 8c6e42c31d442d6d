-- What all scripts share. A node decides nothing by itself: the owner of a lock is the one that a majority names, under a
-- token on which a majority agrees. Times are microseconds of the node's clock, whole numbers below 2^53, and are formatted
-- with %.0f: tostring would round them.
--
-- Versions that share locks share the names of the keys, so the last four are called as in the first version: `line`,
-- `places`, `turn` and `sealed`.
local lock, fence, queue, leases, reservation, tombstone = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- How many positions one request reads at most.
local MAX_POSITIONS = 1000

local holder = redis.call('GET', lock)

local function number(n)
  return string.format('%.0f', n)
end

-- Returns the last token of this node, and the round that drew it.
local function fence_record()
  local token, token_owner = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
  return tonumber(token), token_owner
end

local function dequeue(waiter)
  redis.call('ZREM', queue, waiter)
  redis.call('HDEL', leases, waiter)
end

-- Notifies the waiter that has waited longest by the waiters' own clocks, so that most nodes notify the same one, and
-- reserves the lock for it for `reserved_ms`. A position whose lease has run out is removed, and a waiter without a
-- subscriber is skipped. The lease of a notified waiter ends soon, so that one that does not ask delays only this release.
-- If it asks later, it has its position again. A write that fails, for want of memory or of a right to the channel, must
-- not undo the rest.
local function notify_next(notified_lease_ms, reserved_ms)
  local position = 0
  for _ = 1, MAX_POSITIONS do
    local waiter = redis.call('ZRANGE', queue, position, position)[1]
    if not waiter then
      return
    end
    local ends, inbox = string.match(redis.call('HGET', leases, waiter) or '', '^(%d+) (.*)$')
    if not ends or tonumber(ends) <= now then
      dequeue(waiter)
    else
      local listeners = redis.pcall('PUBLISH', inbox, waiter)
      if type(listeners) ~= 'number' or listeners > 0 then
        local lease_ends = math.min(ends, now + notified_lease_ms * 1000)
        redis.pcall('HSET', leases, waiter, number(lease_ends) .. ' ' .. inbox)
        redis.pcall('SET', reservation, waiter, 'PX', reserved_ms)
        return
      end
      position = position + 1
    end
  end
end
