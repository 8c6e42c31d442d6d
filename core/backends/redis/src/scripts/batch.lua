-- Executes concurrent requests: first all releases and cleanups, as `release.lua` would, and then all acquires, as
-- `acquire.lua` would. The script reads and writes locks without waiters together. There is one difference: once the
-- script has written, even for a release, a server without free memory refuses none of the script's writes.
local releases, inbox, heal = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local acquires = (#KEYS - releases * 2) / 4

-- These functions return where the keys and arguments of a release, or of an acquire, begin.
local function release_at(i)
  return i * 2 - 1, 1 + i * 3
end
local function acquire_at(i)
  return releases * 2 + i * 4 - 3, releases * 3 + i * 4
end

-- A failed request has no effect. The client sends the request again alone, so that its error concerns no other
-- request.
local ALONE = '0'
local function carry_out(request, keys, arguments)
  local done, answer = pcall(request, keys, arguments)
  return done and answer or ALONE
end

-- All reads come before the first write, because an error after a write would hide the results of that write.
local now, now_text = time()
local read, queues = {}, {}
for i = 1, releases do
  local k = release_at(i)
  read[i], queues[i] = KEYS[k], KEYS[k + 1]
end
for i = 1, acquires do
  local k, r = acquire_at(i), releases + i * 3
  read[r - 2], read[r - 1], read[r] = KEYS[k], KEYS[k + 2], KEYS[k + 3]
  queues[releases + i] = KEYS[k + 1]
end
local found = redis.call('MGET', unpack(read))
local queued = redis.call('EXISTS', unpack(queues))

local answers, left, was_released = {now_text}, {}, {}
for i = 1, releases do
  local k, a = release_at(i)
  if queued == 0 and found[i] == ARGV[a] and ARGV[a + 1] == '0' and ARGV[a + 2] == '' then
    left[#left + 1] = KEYS[k]
    answers[i + 1] = '1'
  end
end
if #left > 0 then
  redis.call('DEL', unpack(left))
end
for i = 1, releases do
  if not answers[i + 1] then
    local k, a = release_at(i)
    local owner, lock, queue = ARGV[a], KEYS[k], KEYS[k + 1]
    local successor, successor_expiry = string.match(ARGV[a + 2], '^(%S+) (%d*)$')
    was_released[lock] = true
    answers[i + 1] = carry_out(release, {lock, queue, aux_key(queue, 'fence')}, {
      owner, ARGV[a + 1], successor, successor_expiry,
    })
  end
end

for i = 1, acquires do
  local k, a = acquire_at(i)
  local lock, queue, fence, tombstone = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  local owner, ttl_ms = ARGV[a], ARGV[a + 1]
  local r = releases + i * 3
  local holder, record, is_ended = found[r - 2], found[r - 1], found[r]
  -- An earlier acquire of this batch may have locked the same key since the reads, so the write below uses NX.
  if not holder and record and not is_ended and not was_released[lock] and now < tonumber(ARGV[a + 3])
      and (queued == 0 or redis.call('EXISTS', queue) == 0) then
    local token, last = next_token(record, now, now_text)
    local taken = token and redis.pcall('SET', lock, owner, 'PX', ttl_ms, 'NX')
    if taken and taken.ok then
      local drawn = token .. ' ' .. owner
      local lasts = last and last < now and last >= now - now % FENCE_STEP
      local kept = lasts and redis.pcall('SET', fence, drawn, 'KEEPTTL')
        or redis.pcall('SET', fence, drawn, 'PX', FENCE_MS)
      answers[releases + i + 1] = kept.ok and token
    end
  end
  if not answers[releases + i + 1] then
    answers[releases + i + 1] = carry_out(acquire, {lock, queue, fence, tombstone}, {
      owner, ttl_ms, ARGV[a + 3], ARGV[a + 2] == '1' and inbox or '', 'x', '', heal,
    })
  end
end
return answers
