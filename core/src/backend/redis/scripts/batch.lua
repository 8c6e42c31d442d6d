-- Carries out what was asked at the same time about several locks: all releases and cleanups, as `leave.lua` would one
-- after the other, and then all attempts, as `acquire.lua` would. Locks that nobody else wants are looked at together.
-- One thing differs: a server that is full refuses nothing to a script that has written something, be it a release.
local leaves, inbox, heal = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local takes = (#KEYS - leaves * 2) / 4

-- What a release that is carried out like this begins with in KEYS and ARGV, and an attempt.
local function of_leave(i)
  return i * 2 - 1, 1 + i * 3
end
local function of_take(i)
  return leaves * 2 + i * 4 - 3, leaves * 3 + i * 4
end

-- What fails changes nothing, and is asked again alone: then its error is told to nobody else.
local ALONE = '0'
local function carry_out(request, keys, arguments)
  local done, answer = pcall(request, keys, arguments)
  return done and answer or ALONE
end

-- Everything is read before anything is written: from then on an error would hide what was done.
local now, written = time()
local read, queues = {}, {}
for i = 1, leaves do
  local k = of_leave(i)
  read[i], queues[i] = KEYS[k], KEYS[k + 1]
end
for i = 1, takes do
  local k, r = of_take(i), leaves + i * 3
  read[r - 2], read[r - 1], read[r] = KEYS[k], KEYS[k + 2], KEYS[k + 3]
  queues[leaves + i] = KEYS[k + 1]
end
local found = redis.call('MGET', unpack(read))
local awaited = redis.call('EXISTS', unpack(queues))

local answers, left, looked_at = {written}, {}, {}
for i = 1, leaves do
  local k, a = of_leave(i)
  if awaited == 0 and found[i] == ARGV[a] and ARGV[a + 1] == '0' and ARGV[a + 2] == '' then
    left[#left + 1] = KEYS[k]
    answers[i + 1] = '1'
  end
end
if #left > 0 then
  redis.call('DEL', unpack(left))
end
for i = 1, leaves do
  if not answers[i + 1] then
    local k, a = of_leave(i)
    local owner, lock, queue = ARGV[a], KEYS[k], KEYS[k + 1]
    local named, ttl_ms, named_until = string.match(ARGV[a + 2], '^(%S+) (%d+) (%d*)$')
    looked_at[lock] = true
    answers[i + 1] = carry_out(leave, {lock, queue, companion(queue, 'fence')}, {
      owner, ARGV[a + 1], named, ttl_ms, named_until,
    })
  end
end

for i = 1, takes do
  local k, a = of_take(i)
  local lock, queue, fence, seal = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  local owner, ttl_ms = ARGV[a], ARGV[a + 1]
  local r = leaves + i * 3
  local holder, record, is_sealed = found[r - 2], found[r - 1], found[r]
  -- Of several attempts on one free lock the first has taken it when the others come.
  if not holder and record and not is_sealed and not looked_at[lock] and now < tonumber(ARGV[a + 3])
      and (awaited == 0 or redis.call('EXISTS', queue) == 0) then
    local token = next_token(record, now, written)
    local taken = token and redis.pcall('SET', lock, owner, 'PX', ttl_ms, 'NX')
    if taken and taken.ok then
      local drawn, last = token .. ' ' .. owner, tonumber(string.sub(record, 1, 17))
      local lasts = last and last < now and last >= now - now % FENCE_STEP
      local kept = lasts and redis.pcall('SET', fence, drawn, 'KEEPTTL')
        or redis.pcall('SET', fence, drawn, 'PX', FENCE_MS)
      answers[leaves + i + 1] = kept.ok and token
    end
  end
  if not answers[leaves + i + 1] then
    answers[leaves + i + 1] = carry_out(acquire, {lock, queue, fence, seal}, {
      owner, ttl_ms, ARGV[a + 3], ARGV[a + 2] == '1' and inbox or '', 'x', '', heal,
    })
  end
end
return answers
