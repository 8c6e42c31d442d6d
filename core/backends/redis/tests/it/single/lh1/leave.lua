-- Release and cleanup: whatever the owner has here ends (no-ghost), and the lock goes to the next (no-stall).
local owner, grant_ms, copies_until = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local sealed = KEYS[6]

-- What comes first cannot fail for want of memory; after it, nothing else does.
local held = give_up(owner)
local waited = redis.call('ZREM', queue, owner) == 1
redis.call('HDEL', leases, owner)
-- A waiter that gives up may have been the one that did not fit.
if held or (waited and is_divided()) then
  hand_on(nil, grant_ms)
end

-- Copies of the request that were not answered may still be on their way, and are refused until they expire. A
-- millisecond more, for the server ends keys by a clock of its own.
if copies_until > now then
  local seal_ms = math.ceil((copies_until - now) / 1000) + 1
  local set = redis.pcall('SET', sealed, '1', 'PX', number(seal_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
return held and 'left' or 'absent'
