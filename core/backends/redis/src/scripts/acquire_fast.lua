-- Acquires a free lock without waiters, as `acquire.lua` would, in fewer steps. Usually the token is the time.
local lock, queue, fence, tombstone = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- A request without an inbox does not queue.
local owner, ttl_ms, expires_at, inbox = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local mode, previous_owner, heal = ARGV[5] or 'x', ARGV[6] or '', ARGV[7] == '1'

local now, now_text = time()
if mode == 'x' and previous_owner == '' and now < expires_at and now < TOKENS_END
    and redis.call('EXISTS', lock, queue, tombstone) == 0 then
  -- A server without free memory refuses only the first write of a script.
  local record = redis.call('SET', fence, now_text .. ' ' .. owner, 'KEEPTTL', 'GET')
  -- A token that is a time has 16 digits, followed by a space.
  local last = tonumber(string.sub(record or '0', 1, 17))
  if last and last < now then
    if last < now - now % FENCE_STEP then
      redis.call('PEXPIRE', fence, FENCE_MS)
    end
    redis.call('SET', lock, owner, 'PX', ttl_ms)
    return 'granted ' .. now_text
  end
  redis.call('SET', fence, record, 'KEEPTTL')
end

