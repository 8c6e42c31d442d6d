-- What this node knows: who holds the lock, under which token, for how long, and how many wait.
local token, drawer = record()
local waiting = 0
local entries = redis.call('HGETALL', places)
for i = 1, #entries, 2 do
  local ends = tonumber(string.match(entries[i + 1], '^%d+'))
  if ends and ends > now then
    waiting = waiting + 1
  end
end
return {holder or '', drawer == holder and number(token) or '', number(redis.call('PTTL', lock)), number(waiting)}
