-- Release and cleanup: ends the lock of the round here, and the position of its waiter. The last token stays.
local round, waiter, copies_until = ARGV[1], ARGV[2], tonumber(ARGV[5])
local notified_lease_ms, reserved_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

-- The first write cannot fail for lack of memory, and neither can later ones.
local held = holder == round
if held then
  redis.call('DEL', lock)
  holder = false
end
if waiter ~= '' then
  dequeue(waiter)
  -- The lock may have been reserved for the waiter that leaves.
  if not holder then
    redis.call('DEL', reservation)
    notify_next(notified_lease_ms, reserved_ms)
  end
end

-- Duplicates of the request without a reply may still arrive. The node refuses them until they expire, and a
-- millisecond longer, because it expires keys by another clock.
if copies_until > now then
  local tombstone_ms = math.ceil((copies_until - now) / 1000) + 1
  local set = redis.pcall('SET', tombstone, '1', 'PX', number(tombstone_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
return held and 'left' or 'absent'
