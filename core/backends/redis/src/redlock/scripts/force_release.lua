-- Ends the lock of any owner on this node, and notifies the next waiter.
local held = redis.call('DEL', lock)
notify_next(tonumber(ARGV[1]), tonumber(ARGV[2]))
return held
