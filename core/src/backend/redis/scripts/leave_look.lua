fence = fence or companion(queue, 'fence')
local leases, shares = KEYS[5] or companion(queue, 'leases'), KEYS[6] or companion(queue, 'shares')
local now, written = time()
if held == nil then
  holder = redis.call('GET', lock)
end

