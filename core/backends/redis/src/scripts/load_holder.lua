-- Reads the time and the holder.
local lock, fence, queue, leases, shares = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now, now_text = time()
local holder = redis.call('GET', lock)

