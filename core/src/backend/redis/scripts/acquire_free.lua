-- Takes a lock that is free and for which nobody waits, as `acquire.lua` would, in as few steps as that needs.
local lock, queue, fence, seal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- One without an inbox does not queue.
local owner, ttl_ms, expires_at, inbox = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local mode, giver, heal = ARGV[5] or 'x', ARGV[6] or '', ARGV[7] == '1'

local now, written = time()
if mode == 'x' and giver == '' and now < expires_at and redis.call('EXISTS', lock, queue, seal) == 0 then
  local token = next_token(redis.call('GET', fence) or '', now, written)
  if token then
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    redis.call('SET', fence, token .. ' ' .. owner, 'PX', FENCE_MS)
    return token == written and 'granted ' .. token or 'granted ' .. written .. ' ' .. token
  end
end

local leases, shares = KEYS[5] or companion(queue, 'leases'), KEYS[6] or companion(queue, 'shares')
-- MGET passes over what is no string, which is to be refused.
local found = redis.call('MGET', lock, fence, seal)
local holder, record = found[1] or redis.call('GET', lock), found[2] or redis.call('GET', fence) or ''
local sealed = found[3]
