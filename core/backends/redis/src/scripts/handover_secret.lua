-- Stores the secret with which the next owner accepts the lock, and renews the lease (no-revival). The previous owner
-- must be the only holder, under its own token. Without a secret, the script deletes the secret of a previous owner whose
-- handover was cancelled. Like `renew.lua`, the script does not use the prelude.
local lock, fence, handover = KEYS[1], KEYS[2], KEYS[3]
local previous_owner, token, secret, ttl_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if secret == '' then
  local stored = redis.call('GET', handover)
  if stored and string.sub(stored, 1, #previous_owner + 1) == previous_owner .. ' ' then
    redis.call('DEL', handover)
  end
  return 0
end
local drawn = token .. ' ' .. previous_owner
if redis.call('GET', lock) ~= previous_owner or (redis.call('GET', fence) or drawn) ~= drawn then
  return 0
end
-- A server without free memory refuses only the first write of a script. The script writes the secret first, because
-- the secret has no effect without the lease.
redis.call('SET', handover, previous_owner .. ' ' .. token .. ' ' .. secret, 'PX', ttl_ms)
redis.call('SET', fence, drawn, 'PX', FENCE_MS)
redis.call('PEXPIRE', lock, ttl_ms)
return 1
