-- One node's vote for a round: its grant and a token, or who holds the lock here.
local round, ttl_ms, hint = ARGV[1], ARGV[2], tonumber(ARGV[3])
local clamp, fence_ms = tonumber(ARGV[4]), ARGV[5]
local waiter, since, inbox, waiter_ms = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local expires_at = tonumber(ARGV[10])

-- A copy that comes after its round is over must not take the lock.
if now >= expires_at or redis.call('EXISTS', sealed) == 1 then
  return {'late', number(now)}
end

-- A lock that is free is for the one that was woken, for as long as that takes, and not for whoever comes.
local awaited = not holder and redis.call('GET', turn)
if awaited == waiter then
  awaited = false
end

local token, drawer = record()
local mine = holder == round and drawer == round

if awaited or (holder and not mine) then
  if waiter ~= '' then
    -- A place that cannot be written, for want of memory, must not make it an error that the lock is busy.
    redis.pcall('ZADD', line, since, waiter)
    redis.pcall('HSET', places, waiter, number(now + waiter_ms * 1000) .. ' ' .. inbox)
    redis.call('PEXPIRE', line, waiter_ms * 4)
    redis.call('PEXPIRE', places, waiter_ms * 4)
  end
  return {'busy', number(now), number(redis.call('PTTL', awaited and turn or lock)), awaited or holder}
end

-- A second copy of a request that was granted: the same token.
if mine then
  redis.call('PEXPIRE', lock, ttl_ms)
  return {'granted', number(now), number(token)}
end

-- The client's hint is what makes the nodes answer the same, so that they need not be asked again. A client whose
-- clock is far ahead must not carry the tokens away with it, and the node's own time is a floor for a counter that was
-- lost.
local drawn = math.max((token or 0) + 1, now, math.min(hint, now + clamp))
if drawn >= 9007199254740992 then
  return {'exhausted', number(now), number(drawn)}
end
redis.call('DEL', turn)
if waiter ~= '' then
  forget(waiter)
end
redis.call('SET', lock, round, 'PX', ttl_ms)
redis.call('SET', fence, number(drawn) .. ' ' .. round, 'PX', fence_ms)
return {'granted', number(now), number(drawn)}
