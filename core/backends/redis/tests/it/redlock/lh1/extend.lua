-- Extends the lease if this round holds the lock here, and nobody has drawn a token since.
local round, ttl_ms, wanted, fence_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local token, drawer = record()

if holder ~= round then
  return 0
end
if token and drawer ~= round then
  return 0
end
redis.call('PEXPIRE', lock, ttl_ms)
-- A node that granted late may have drawn less than the round's token, and is raised to it, or more, and is the round's
-- all the same.
if not token or token < wanted then
  redis.call('SET', fence, number(wanted) .. ' ' .. round, 'PX', fence_ms)
else
  redis.call('PEXPIRE', fence, fence_ms)
end
return 1
