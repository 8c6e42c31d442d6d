-- Lifts this node's token to the one that the round is to have. Only what is equal afterwards is acknowledged: a node
-- whose token is above has granted the lock to somebody else since, or would let this token be drawn twice.
local round, wanted, fence_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local token, drawer = record()

if holder ~= round or drawer ~= round then
  return 0
end
if token < wanted then
  redis.call('SET', fence, number(wanted) .. ' ' .. round, 'PX', fence_ms)
  token = wanted
end
return token == wanted and 1 or 0
