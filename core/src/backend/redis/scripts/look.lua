-- The time, and who holds the lock.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local holder = redis.call('GET', lock)

