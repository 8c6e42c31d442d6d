-- Extends the lease of this owner's shared holder or permit. This entry decides, and not the last token, because tokens
-- are generated for other holders, too. An owner that still has a position in the queue has not confirmed its grant.
local owner, ttl_ms, mode = ARGV[1], ARGV[2], ARGV[3]

if not has_share(owner) or redis.call('ZSCORE', queue, owner) then
  return '0'
end
set_holder(owner, mode, ttl_ms)
if holder == SHARED then
  redis.call('PEXPIRE', fence, FENCE_MS)
end
return '1'
