-- Ends the lock whatever its holder, and grants it to the next waiter.
local held = redis.call('DEL', lock)
holder = false
grant_next(nil)
return held
