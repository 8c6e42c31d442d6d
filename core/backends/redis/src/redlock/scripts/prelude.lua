-- Code that is part of all scripts. A single node does not decide: a majority must name the owner of a lock, and agree
-- on the token. Times are microseconds of the node's clock, whole numbers below 2^53. The scripts format times with
-- %.0f, because tostring would round them.
--
-- Different versions may use the same locks, so the last four keys have the names of the first version: `line`,
-- `places`, `turn` and `sealed`.
local lock, fence, queue, leases, reservation, tombstone = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- The maximum number of positions that one request reads.
local MAX_POSITIONS = 1000

local holder = redis.call('GET', lock)

local function number(n)
  return string.format('%.0f', n)
end

-- Returns the last token of this node, and the round for which this node generated it.
local function fence_record()
  local token, token_owner = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
  return tonumber(token), token_owner
end

local function dequeue(waiter)
  redis.call('ZREM', queue, waiter)
  redis.call('HDEL', leases, waiter)
end

-- Notifies the waiter that has waited longest by the waiters' own clocks, so that most nodes notify the same waiter.
-- Reserves the lock for that waiter for `reserved_ms`. Removes a position with an expired lease, and skips a waiter
-- without a subscriber. Shortens the lease of a notified waiter, so that a waiter that sends no request delays only
-- this release. A later request gives the waiter its position again. A write may fail because the node has too little
-- memory, and a message because a permission is missing. Neither failure may stop the script.
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
