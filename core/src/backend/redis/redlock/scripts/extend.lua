-- Extends the lease if this round holds the lock here, and nobody has drawn a token since.
local round, ttl_ms, wanted, fence_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local token, drawer = record()

if holder ~= round then
  return 0
end
if not token then
  redis.call('PEXPIRE', lock, ttl_ms)
  redis.call('SET', fence, number(wanted) .. ' ' .. round, 'PX', fence_ms)
  return 1
end
-- A node that answered late may have drawn more than the round's token, and is held all the same.
if drawer ~= round or token < wanted then
  return 0
end
redis.call('PEXPIRE', lock, ttl_ms)
redis.call('PEXPIRE', fence, fence_ms)
return 1
