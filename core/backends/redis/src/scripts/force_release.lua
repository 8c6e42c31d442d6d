-- Ends the lock of any owner, and grants it to the next waiter.
local held = redis.call('DEL', lock)
holder = false
grant_next(nil)
return held
