-- Takes the lock from whoever holds it here.
local held = redis.call('DEL', lock)
wake(tonumber(ARGV[1]), tonumber(ARGV[2]))
return held
