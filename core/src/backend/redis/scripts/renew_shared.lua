-- Extends the lease of a share that this owner has. The share decides, and not the token, because other holders draw tokens
-- too. An owner that still has a position in the queue has not confirmed its share.
local owner, ttl_ms, mode = ARGV[1], ARGV[2], ARGV[3]

if not has_share(owner) or redis.call('ZSCORE', queue, owner) then
  return '0'
end
set_holder(owner, mode, ttl_ms)
if holder == SHARED then
  redis.call('PEXPIRE', fence, FENCE_MS)
end
return '1'
