-- Returns the state of this node: the owner of the lock, its token, the remaining time of its lease, and the number of
-- waiters.
local token, token_owner = fence_record()
local waiting = 0
local entries = redis.call('HGETALL', leases)
for i = 1, #entries, 2 do
  local ends = tonumber(string.match(entries[i + 1], '^%d+'))
  if ends and ends > now then
    waiting = waiting + 1
  end
end
return {holder or '', token_owner == holder and number(token) or '', number(redis.call('PTTL', lock)), number(waiting)}
