-- Extends the leases of exclusive locks. The script extends a lease only if its owner still holds the lock, under the
-- owner's token (no-revival). Returns a digit for each lock, in order. The script does not use the prelude, because it
-- reads only two keys of each lock.
local records = {}

-- All reads come first, so that an error means that the script has extended no lease.
for n = 1, #KEYS / 2 do
  local owner, token = ARGV[n * 3 - 2], ARGV[n * 3 - 1]
  if redis.call('GET', KEYS[n * 2 - 1]) == owner then
    local drawn = token .. ' ' .. owner
    local record = redis.call('GET', KEYS[n * 2])
    records[n] = (not record or record == drawn) and { drawn, record }
  end
end

-- A server without free memory does not refuse these writes.
local answers = {}
for n = 1, #KEYS / 2 do
  local lock, fence, ttl_ms, record = KEYS[n * 2 - 1], KEYS[n * 2], ARGV[n * 3], records[n]
  answers[n] = record and '1' or '0'
  if record then
    redis.call('PEXPIRE', lock, ttl_ms)
    if record[2] then
      redis.call('PEXPIRE', fence, FENCE_MS)
    else
      redis.call('SET', fence, record[1], 'PX', FENCE_MS)
    end
  end
end
return table.concat(answers)
