-- Release and cleanup: whatever the owner has here ends (no-ghost), and the lock goes to the next (no-stall).

-- What comes first cannot fail for want of memory; after it, nothing else does.
held = held or give_up(owner)
local waited = redis.call('ZREM', queue, owner) == 1
redis.call('HDEL', leases, owner)
local passed
-- Where a lease has run out nobody else tells those who wait, and a waiter that gives up may have been the one that did
-- not fit.
if held or not holder or (waited and is_divided()) then
  passed = select(2, hand_on(nil, named and {owner = named, ttl_ms = named_ttl_ms}))
end

-- Copies of the request that were not answered may still be on their way, and are refused until they expire. A
-- millisecond more, for the server ends keys by a clock of its own.
if copies_until > now then
  local seal_ms = math.ceil((copies_until - now) / 1000) + 1
  local set = redis.pcall('SET', KEYS[4] or companion(queue, 'sealed:' .. owner), '1', 'PX', number(seal_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
local ended = held and 'left' or 'absent'
if passed then
  return ended .. ' ' .. passed
end
-- Whoever names a waiter takes it to stand in line. Where nobody does, places were lost, and all look at once (no-stall).
return named and redis.call('EXISTS', queue) == 0 and ended .. ' unawaited' or ended
