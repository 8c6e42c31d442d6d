-- Release and cleanup: whatever the owner has here ends, and the lock goes to the next.
local owner, grant_ms, seal_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local sealed = KEYS[5]

-- What comes first cannot fail for want of memory; after it, nothing else does.
local held = redis.call('GET', lock) == owner
if held then
  redis.call('DEL', lock)
end
forget(owner)
if held then
  hand_on(grant_ms)
end

-- Copies of the request that were not answered may still be on their way.
if seal_ms > 0 then
  local set = redis.pcall('SET', sealed, '1', 'PX', seal_ms)
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
return held and 'left' or 'absent'
