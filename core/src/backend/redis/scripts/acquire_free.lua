-- Takes a lock that is free and for which nobody waits, as `acquire.lua` would, in as few steps as that needs: mostly
-- the time is the token.
local lock, queue, fence, seal = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- One without an inbox does not queue.
local owner, ttl_ms, expires_at, inbox = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local mode, giver, heal = ARGV[5] or 'x', ARGV[6] or '', ARGV[7] == '1'

local now, written = time()
if mode == 'x' and giver == '' and now < expires_at and now < TOKENS_END
    and redis.call('EXISTS', lock, queue, seal) == 0 then
  -- What comes first is refused where there is no memory; after it, nothing is.
  local record = redis.call('SET', fence, written .. ' ' .. owner, 'KEEPTTL', 'GET')
  -- A token that was the time has 16 digits, and a space comes after it.
  local last = tonumber(string.sub(record or '0', 1, 17))
  if last and last < now then
    if last < now - now % FENCE_STEP then
      redis.call('PEXPIRE', fence, FENCE_MS)
    end
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    return 'granted ' .. written
  end
  redis.call('SET', fence, record, 'KEEPTTL')
end

