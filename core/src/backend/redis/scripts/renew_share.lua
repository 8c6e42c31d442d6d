-- Extends the lease of a share if this owner has it. Others draw tokens beside this holder: the share says that it
-- holds, and ends with its lease. Who still has a place was handed the share and has not confirmed it.
local owner, ttl_ms, mode = ARGV[1], ARGV[2], ARGV[3]

if not has_share(owner) or redis.call('ZSCORE', queue, owner) then
  return '0'
end
take(owner, mode, ttl_ms)
if holder == SHARED then
  redis.call('PEXPIRE', fence, FENCE_MS)
end
return '1'
