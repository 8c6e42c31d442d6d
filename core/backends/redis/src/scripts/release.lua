-- Releases or cleans up: ends the owner's lock and queue position (no-ghost), and grants the lock to the next waiter
-- (no-stall).

-- A server without free memory refuses neither this first write nor later writes.
held = held or end_holds(owner)
local waited = redis.call('ZREM', queue, owner) == 1
redis.call('HDEL', leases, owner)
local successor_token
-- This call must notify the waiters, because the server does not notify waiters when a lease expires. A waiter that
-- leaves may have blocked the waiters after it.
if held or not holder or (waited and has_many_holders()) then
  successor_token = select(2, grant_next(nil, successor))
end

-- Duplicate requests without a reply may still arrive. A tombstone makes the server refuse these requests until they
-- expire. The tombstone lasts a millisecond longer, because the server expires keys by another clock.
if latest_expiry > now then
  local tombstone_ms = math.ceil((latest_expiry - now) / 1000) + 1
  local set = redis.pcall('SET', KEYS[4] or aux_key(queue, 'sealed:' .. string.sub(owner, 1, 36)), '1', 'PX', number(tombstone_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
local ended = held and 'left' or 'absent'
if successor_token then
  return ended .. ' ' .. successor_token
end
-- A successor that is set here should be in the queue. If the queue is empty, the server has lost positions, and all
-- waiters must poll now (no-stall).
return successor and redis.call('EXISTS', queue) == 0 and ended .. ' unawaited' or ended
