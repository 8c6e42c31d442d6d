-- Notes the secret by which a lock can be taken up, if its giver holds it alone under the token that it drew, and sets the
-- lease anew (no-revival). It shares nothing with the other scripts, as `renew.lua`.
local lock, fence, handover = KEYS[1], KEYS[2], KEYS[3]
local giver, token, secret, ttl_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local drawn = token .. ' ' .. giver
if redis.call('GET', lock) ~= giver or (redis.call('GET', fence) or drawn) ~= drawn then
  return 0
end
-- What comes first is refused where there is no memory; after it, nothing is. The secret is of no use without the lease.
redis.call('SET', handover, giver .. ' ' .. token .. ' ' .. secret, 'PX', ttl_ms)
redis.call('SET', fence, drawn, 'PX', FENCE_MS)
redis.call('PEXPIRE', lock, ttl_ms)
return 1
