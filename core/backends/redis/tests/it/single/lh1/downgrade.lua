-- Makes the only holder one of several that share the lock, and lets those in front share it too. It keeps its token.
local owner, ttl_ms, token, grant_ms = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

if holder == owner and redis.call('GET', fence) == token .. ' ' .. owner then
  redis.call('DEL', lock)
  holder = false
elseif not (holder == SHARED and has_share(owner)) then
  return 0
end
take(owner, 's', ttl_ms)
hand_on(nil, grant_ms)
return 1
