-- Releases a lock for which nobody waits, as `leave.lua` would, in as few steps as that needs. What is asked for has
-- been read by `leave_passing.lua`.
local holder = redis.call('GET', lock)
local held = holder == owner
if held then
  -- What comes first cannot fail for want of memory; after it, nothing else does.
  redis.call('DEL', lock)
  holder = false
  if copies_until == 0 and redis.call('EXISTS', queue) == 0 then
    return 'left'
  end
end

fence = fence or companion(queue, 'fence')
local leases, shares = KEYS[5] or companion(queue, 'leases'), KEYS[6] or companion(queue, 'shares')
local now, written = time()

