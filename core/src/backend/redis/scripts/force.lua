-- Takes the lock from whoever holds it, and hands it on.
local held = redis.call('DEL', lock)
holder = false
hand_on(nil)
return held
