-- Releases or cleans up: ends the lock of the round on this node, and the position of its waiter. The last token stays.
local round, waiter, latest_expiry = ARGV[1], ARGV[2], tonumber(ARGV[5])
local notified_lease_ms, reserved_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

-- A node without free memory refuses neither the first write nor later writes.
local held = holder == round
if held then
  redis.call('DEL', lock)
  holder = false
end
-- Most locks have no waiters.
if waiter ~= '' and (not held or redis.call('EXISTS', queue, leases, reservation) > 0) then
  dequeue(waiter)
  -- The node may have reserved the lock for the waiter that leaves.
  if not holder then
    redis.call('DEL', reservation)
    notify_next(notified_lease_ms, reserved_ms)
  end
end

-- Duplicate requests without a reply may still arrive. A tombstone makes the node refuse these requests until they
-- expire. The tombstone lasts a millisecond longer, because the node expires keys by another clock.
if latest_expiry > now then
  local tombstone_ms = math.ceil((latest_expiry - now) / 1000) + 1
  local set = redis.pcall('SET', tombstone, '1', 'PX', number(tombstone_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
return held and 'left' or 'absent'
