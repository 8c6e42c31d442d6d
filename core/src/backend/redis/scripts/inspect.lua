-- Who holds the lock, under which token, for how long, and how many wait. Changes nothing.
local holder = redis.call('GET', lock)
local token, drawer = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
local waiting = 0
local entries = redis.call('HGETALL', leases)
for i = 1, #entries, 2 do
  local ends = tonumber(string.match(entries[i + 1], '^%d+'))
  if ends and ends > now and entries[i] ~= holder then
    waiting = waiting + 1
  end
end
if not holder then
  return {'', '', '-2', number(waiting)}
end
if drawer ~= holder then
  token = ''
end
return {holder, token, number(redis.call('PTTL', lock)), number(waiting)}
