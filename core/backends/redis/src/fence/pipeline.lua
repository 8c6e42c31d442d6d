-- The arguments are the token, and for each command the number of its words and the words. The token is recorded first,
-- so if memory runs out, no command has been executed.
local newest = admit_token(KEYS[1], ARGV[1])
if newest ~= ARGV[1] then
  return newest
end
local replies = {}
local at = 2
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local reply = redis.pcall(unpack(ARGV, at + 1, last))
  if type(reply) == 'table' and reply.err then
    return {replies, reply.err}
  end
  replies[#replies + 1] = reply
  at = last + 1
end
return {replies}
