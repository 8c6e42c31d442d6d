fence = fence or aux_key(queue, 'fence')
local leases, shares = KEYS[5] or aux_key(queue, 'leases'), KEYS[6] or aux_key(queue, 'shares')
local now, now_text = time()
if held == nil then
  holder = redis.call('GET', lock)
end

