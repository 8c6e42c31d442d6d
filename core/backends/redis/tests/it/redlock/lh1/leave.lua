-- Release and cleanup: what the round has here ends, and the waiter's place with it. The tokens stay.
local round, waiter, copies_until = ARGV[1], ARGV[2], tonumber(ARGV[5])
local woken_ms, turn_ms = tonumber(ARGV[3]), tonumber(ARGV[4])

-- What comes first cannot fail for want of memory; after it, nothing else does.
local held = holder == round
if held then
  redis.call('DEL', lock)
  holder = false
end
if waiter ~= '' then
  forget(waiter)
  -- Who gives up may have been the one that was woken.
  if not holder then
    redis.call('DEL', turn)
    wake(woken_ms, turn_ms)
  end
end

-- Copies of the request that were not answered may still be on their way, and are refused until they expire. A
-- millisecond more, for the node ends keys by a clock of its own.
if copies_until > now then
  local seal_ms = math.ceil((copies_until - now) / 1000) + 1
  local set = redis.pcall('SET', sealed, '1', 'PX', number(seal_ms))
  if type(set) == 'table' and set.err then
    return 'unsealed'
  end
end
return held and 'left' or 'absent'
