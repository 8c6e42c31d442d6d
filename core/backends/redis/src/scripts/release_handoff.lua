-- Hands off the lock to the successor that the release names, as `release.lua` would, in fewer steps. A release without
-- a successor does not name the fence. The script grants the lock to the successor for GRANT_MS. So a successor that is
-- not polled delays others for at most that time (no-stall).
local fence = KEYS[3]
-- The server refuses the successor's request from this time on. Set for a successor that is not in the queue.
local successor_expiry = tonumber(ARGV[4])

if successor_expiry then
  -- This is equivalent to the release followed by the successor's acquire. If there are waiters in the queue, the
  -- successor is behind them (in-order), and sends its own request. An abandoned attempt must not acquire the lock
  -- (no-ghost).
  local successor_tombstone = KEYS[7] or aux_key(queue, 'sealed:' .. string.sub(successor, 1, 36))
  if latest_expiry == 0 and redis.call('EXISTS', queue, successor_tombstone) == 0 then
    local found = redis.call('MGET', lock, fence)
    local now, now_text = time()
    local token = found[2] and now < successor_expiry and next_token(found[2], now, now_text)
    if token and found[1] == owner then
      -- If there is not enough memory for the grant, the script still releases the lock.
      if redis.pcall('SET', lock, successor, 'PX', GRANT_MS).ok then
        redis.call('SET', fence, token .. ' ' .. successor, 'PX', FENCE_MS)
        return 'left ' .. token
      end
    end
  end
  successor = nil
end

if successor and latest_expiry == 0 and redis.call('ZRANGE', queue, 0, 0)[1] == successor then
  local leases = KEYS[5] or aux_key(queue, 'leases')
  local found = redis.call('MGET', lock, fence)
  local now, now_text = time()
  local ends, mode = string.match(redis.call('HGET', leases, successor) or '', '^(%d+) (%S+) ')
  local token = next_token(found[2] or '', now, now_text)
  if found[1] == owner and mode == 'x' and tonumber(ends) > now and token then
    -- A server without free memory refuses neither this write nor later writes.
    redis.call('ZREM', queue, owner, successor)
    redis.call('HDEL', leases, owner, successor)
    redis.call('SET', lock, successor, 'PX', GRANT_MS)
    redis.call('SET', fence, token .. ' ' .. successor, 'PX', FENCE_MS)
    return 'left ' .. token
  end
end
