-- Extends the lease if this round holds the lock here, and the node has not generated a token for another round since.
local round, ttl_ms, wanted, fence_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local token, token_owner = fence_record()

if holder ~= round then
  return 0
end
if token and token_owner ~= round then
  return 0
end
redis.call('PEXPIRE', lock, ttl_ms)
-- A node that granted late may have a smaller token than the round, and the script then raises the node's token. A node
-- may also have a larger token, which belongs to the round, too.
if not token or token < wanted then
  redis.call('SET', fence, number(wanted) .. ' ' .. round, 'PX', fence_ms)
else
  redis.call('PEXPIRE', fence, fence_ms)
end
return 1
