-- Makes the only holder a reader that keeps its token, and grants the lock to the readers at the head of the queue.
local owner, ttl_ms, token = ARGV[1], ARGV[2], ARGV[3]

if holder == owner and redis.call('GET', fence) == token .. ' ' .. owner then
  redis.call('DEL', lock)
  holder = false
elseif not (holder == SHARED and has_share(owner)) then
  return 0
end
set_holder(owner, 's', ttl_ms)
grant_next(nil)
return 1
