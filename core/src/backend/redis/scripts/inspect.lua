-- Who holds the lock, under which token, for how long, how many shares or permits are taken, and how many wait.
local token, drawer = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
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
local taken = is_divided() and redis.call('ZCARD', shares) or 1
local its_own = drawer == holder or (is_divided() and token)
return {is_divided() and '' or holder, its_own and token or '', number(redis.call('PTTL', lock)), number(taken), number(waiting)}
