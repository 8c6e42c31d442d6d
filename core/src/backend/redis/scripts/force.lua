-- Takes the lock from whoever holds it, and hands it on.
local held = redis.call('DEL', lock)
hand_on(tonumber(ARGV[1]))
return held
