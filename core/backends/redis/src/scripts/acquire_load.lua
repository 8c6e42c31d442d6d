local leases, shares = KEYS[5] or aux_key(queue, 'leases'), KEYS[6] or aux_key(queue, 'shares')
-- `MGET` returns nil for a key that is not a string. The `GET` below then returns an error.
local found = redis.call('MGET', lock, fence, tombstone)
local holder, record = found[1] or redis.call('GET', lock), found[2] or redis.call('GET', fence) or ''
local is_ended = found[3]

