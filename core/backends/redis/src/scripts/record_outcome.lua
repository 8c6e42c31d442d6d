-- Records the outcome of the holder, releases its lock, and notifies all waiters, which then find the outcome. A caller
-- that does not hold the lock under its token records nothing (no-revival).
local owner, token, latest_expiry, keep_ms, outcome = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local kept, tombstone = KEYS[6], KEYS[7]
local drawn = token .. ' ' .. owner

if holder ~= owner or (redis.call('GET', fence) or drawn) ~= drawn then
  -- The server may have recorded this outcome already, for an earlier request.
  local found = redis.call('GET', kept)
  return found and string.sub(found, 1, #drawn + 1) == drawn .. ' ' and 1 or 0
end

-- A server without free memory refuses only the first write of a script.
redis.call('SET', kept, drawn .. ' ' .. outcome, 'PX', keep_ms)
redis.call('DEL', lock)
-- Duplicate acquires of this owner may still arrive, even after the outcome has expired (no-ghost).
if latest_expiry > now then
  redis.call('SET', tombstone, '1', 'PX', number(math.ceil((latest_expiry - now) / 1000) + 1))
end
for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
  local inbox = string.match(redis.call('HGET', leases, waiter) or '', '^%d+ %S+ (.*)$')
  if inbox then
    -- A missing permission for the channel must not stop the script. Only channels of a Cluster have a hash tag.
    redis.pcall(string.find(inbox, '{', 1, true) and 'SPUBLISH' or 'PUBLISH', inbox, waiter)
  end
end
redis.call('DEL', queue, leases)
return 1
