-- Raises the token of this node to the token of the round. The node acknowledges only an equal token. A node with a
-- larger token has granted the lock to another round since, or could generate this token a second time.
local round, wanted, fence_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local token, token_owner = fence_record()

if holder ~= round or token_owner ~= round then
  return 0
end
if token < wanted then
  redis.call('SET', fence, number(wanted) .. ' ' .. round, 'PX', fence_ms)
  token = wanted
end
return token == wanted and 1 or 0
