local leases, shares = KEYS[5] or companion(queue, 'leases'), KEYS[6] or companion(queue, 'shares')
-- MGET passes over what is no string, which is to be refused.
local found = redis.call('MGET', lock, fence, seal)
local holder, record = found[1] or redis.call('GET', lock), found[2] or redis.call('GET', fence) or ''
local sealed = found[3]

