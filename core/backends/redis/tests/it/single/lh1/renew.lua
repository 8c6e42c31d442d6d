-- Extends the lease if this owner holds the lock, under the token that it drew (no-revival).
local owner, ttl_ms, token, fence_ms, mode = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if divided(mode) then
  -- Others draw tokens beside this holder. Its share says that it holds, and ends with its lease. Who still has a
  -- place was handed the share and has not confirmed it.
  if not has_share(owner) or redis.call('ZSCORE', queue, owner) then
    return 0
  end
  take(owner, mode, ttl_ms)
  redis.call('PEXPIRE', fence, fence_ms)
  return 1
end

if holder ~= owner then
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
