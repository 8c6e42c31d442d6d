-- Returns the holder, its token, the remaining time of the lease, the number of shared holders or permits in use, and
-- the number of waiters.
local token, token_owner = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
local waiting = 0
local entries = redis.call('HGETALL', leases)
for i = 1, #entries, 2 do
  local ends = tonumber(string.match(entries[i + 1], '^%d+'))
  if ends and ends > now and entries[i] ~= holder and not has_share(entries[i]) then
    waiting = waiting + 1
  end
end
if not holder then
  return {'', '', '-2', '0', number(waiting)}
end
local taken = has_many_holders() and redis.call('ZCARD', shares) or 1
local its_own = token_owner == holder or (has_many_holders() and token)
return {has_many_holders() and '' or holder, its_own and token or '', number(redis.call('PTTL', lock)), number(taken), number(waiting)}
