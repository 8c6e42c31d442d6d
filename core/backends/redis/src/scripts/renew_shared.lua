-- Extends the lease of this owner's shared lock or permits. The owner's entry in `shares` decides, not the last token,
-- because other holders get tokens, too. An owner that still has a position in the queue has not confirmed its grant.
local owner, ttl_ms, mode = ARGV[1], ARGV[2], ARGV[3]

if not has_share(owner) or redis.call('ZSCORE', queue, owner) then
  return '0'
end
set_holder(owner, mode, ttl_ms)
if holder == SHARED then
  redis.call('PEXPIRE', fence, FENCE_MS)
end
return '1'
