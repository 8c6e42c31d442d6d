-- Extends the lease if this owner holds the lock, under the token that it drew (no-revival).
local owner, ttl_ms, token, fence_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('GET', lock) ~= owner then
  return 0
end
local record = redis.call('GET', fence)
if record and record ~= token .. ' ' .. owner then
  return 0
end
redis.call('PEXPIRE', lock, ttl_ms)
if record then
  redis.call('PEXPIRE', fence, fence_ms)
else
  redis.call('SET', fence, token .. ' ' .. owner, 'PX', fence_ms)
end
return 1
