-- Returns the vote of one node for a round. A granted vote contains a token, and a busy vote contains the owner of the
-- lock on this node.
local round, ttl_ms, hint = ARGV[1], ARGV[2], tonumber(ARGV[3])
local clamp, fence_ms = tonumber(ARGV[4]), ARGV[5]
local waiter, since, inbox, waiter_ms = ARGV[6], ARGV[7], ARGV[8], tonumber(ARGV[9])
local expires_at = tonumber(ARGV[10])

-- Most locks have none of these keys, so one command usually replaces several.
local has_extras = redis.call('EXISTS', tombstone, queue, leases, reservation) > 0

-- A duplicate request that arrives after the end of its round must not acquire the lock.
if now >= expires_at or (has_extras and redis.call('EXISTS', tombstone) == 1) then
  return {'late', number(now)}
end

-- For a short time, the node reserves a free lock for the notified waiter, and does not grant the lock to a newcomer.
local reserved_for = has_extras and not holder and redis.call('GET', reservation)
if reserved_for == waiter then
  reserved_for = false
end

local token, token_owner = fence_record()
local mine = holder == round and token_owner == round

if reserved_for or (holder and not mine) then
  if waiter ~= '' then
    -- If the node has too little memory to store the position, the reply must still be busy, not an error.
    redis.pcall('ZADD', queue, since, waiter)
    redis.pcall('HSET', leases, waiter, number(now + waiter_ms * 1000) .. ' ' .. inbox)
    redis.call('PEXPIRE', queue, waiter_ms * 4)
    redis.call('PEXPIRE', leases, waiter_ms * 4)
  end
  local left_ms = redis.call('PTTL', reserved_for and reservation or lock)
  return {'busy', number(now), number(left_ms), reserved_for or holder}
end

-- A duplicate request of a granted round receives the same token.
if mine then
  redis.call('PEXPIRE', lock, ttl_ms)
  return {'granted', number(now), number(token)}
end

-- With the client's hint all nodes generate the same token, so that a second exchange is not necessary. The node limits
-- the hint, because a client with a fast clock must not raise the tokens of all other clients. The node's time is the
-- minimum, in case the node has lost the counter.
local drawn = math.max((token or 0) + 1, now, math.min(hint, now + clamp))
if drawn >= 9007199254740992 then
  return {'exhausted', number(now), number(drawn)}
end
-- A server without free memory refuses neither this write nor later writes.
redis.call('DEL', reservation)
if has_extras and waiter ~= '' then
  dequeue(waiter)
end
redis.call('SET', lock, round, 'PX', ttl_ms)
redis.call('SET', fence, number(drawn) .. ' ' .. round, 'PX', fence_ms)
return {'granted', number(now), number(drawn)}
