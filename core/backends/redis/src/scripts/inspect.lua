-- Returns the holder, its token, the remaining time of the lease, the number of shared holders or permits in use, the
-- number of waiters, the time, and the members of `shares` with the ends of their leases. A list of locks limits the
-- number of these members, and counts the waiters of a long queue without reading them, so that no call takes long.
local most = tonumber(ARGV[1] or '0')
local token, token_owner = string.match(redis.call('GET', fence) or '', '^(%d+) (.*)$')
local waiting = 0
if most > 0 and redis.call('ZCARD', queue) > most then
  waiting = redis.call('ZCARD', queue)
else
  local entries = redis.call('HGETALL', leases)
  for i = 1, #entries, 2 do
    local ends = tonumber(string.match(entries[i + 1], '^%d+'))
    if ends and ends > now and entries[i] ~= holder and not has_share(entries[i]) then
      waiting = waiting + 1
    end
  end
end
if not holder then
  return {'', '', '-2', '0', number(waiting), now_text, {}}
end
local many = has_many_holders()
local taken = many and redis.call('ZCARD', shares) or 1
local its_own = token_owner == holder or (many and token)
local left_ms = number(redis.call('PTTL', lock))
local held_by = many and redis.call('ZRANGE', shares, 0, most - 1, 'WITHSCORES') or {}
return {many and '' or holder, its_own and token or '', left_ms, number(taken), number(waiting), now_text, held_by}
