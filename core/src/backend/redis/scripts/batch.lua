-- Carries out what was asked at the same time about several locks: all releases and cleanups, as `leave.lua` would one
-- after the other, and then all attempts, as `acquire.lua` would. Locks that nobody else wants are looked at together.
-- One thing differs: a server that is full refuses nothing to a script that has written something, be it a release.
--
-- A batch goes to one server, so what is seldom needed is named after the queue.
local leaves, inbox, heal = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local waiter_ms, grant_ms, fence_ms, copies_ms = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local takes = (#KEYS - leaves * 2) / 4

-- What a release that is carried out like this begins with in KEYS and ARGV, and an attempt.
local function of_leave(i)
  return i * 2 - 1, 5 + i * 3
end
local function of_take(i)
  return leaves * 2 + i * 4 - 3, 4 + leaves * 3 + i * 4
end

local function companion(queue, name)
  return string.sub(queue, 1, -6) .. name
end

-- What fails changes nothing, and is asked again alone: then its error is told to nobody else.
local ALONE = '0'
local function carry_out(request, keys, arguments)
  local done, answer = pcall(request, keys, arguments)
  return done and answer or ALONE
end

-- Everything is read before anything is written: from then on an error would hide what was done.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local read, queues = {}, {}
for i = 1, leaves do
  local k = of_leave(i)
  read[i], queues[i] = KEYS[k], KEYS[k + 1]
end
for i = 1, takes do
  local k, r = of_take(i), leaves + i * 3
  read[r - 2], read[r - 1], read[r] = KEYS[k], KEYS[k + 1], KEYS[k + 3]
  queues[leaves + i] = KEYS[k + 2]
end
local found = redis.call('MGET', unpack(read))
local awaited = redis.call('EXISTS', unpack(queues))

local answers, left, looked_at = {number(now)}, {}, {}
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
    answers[i + 1] = carry_out(leave, {
      lock, companion(queue, 'fence'), queue, companion(queue, 'leases'), companion(queue, 'shares'),
      companion(queue, 'sealed:' .. owner), companion(queue, 'sealed:' .. (named or owner)),
    }, {owner, grant_ms, ARGV[a + 1], named or '', ttl_ms or '', fence_ms, named_until or ''})
  end
end

for i = 1, takes do
  local k, a = of_take(i)
  local lock, fence, queue, seal = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  local owner, ttl_ms = ARGV[a], ARGV[a + 1]
  local r = leaves + i * 3
  local holder, record, is_sealed = found[r - 2], found[r - 1], found[r]
  -- Of several attempts on one free lock the first has taken it when the others come.
  if not holder and record and not is_sealed and not looked_at[lock] and now < tonumber(ARGV[a + 3])
      and (awaited == 0 or redis.call('EXISTS', queue) == 0) then
    local drawn = next_token(record, now)
    local taken = drawn < TOKENS_END and redis.pcall('SET', lock, owner, 'PX', ttl_ms, 'NX')
    if taken and taken.ok then
      local token = drawn == now and answers[1] or number(drawn)
      if redis.pcall('SET', fence, token .. ' ' .. owner, 'PX', fence_ms).ok then
        answers[leaves + i + 1] = token
      end
    end
  end
  if not answers[leaves + i + 1] then
    answers[leaves + i + 1] = carry_out(acquire, {
      lock, fence, queue, companion(queue, 'leases'), companion(queue, 'shares'), seal, seal,
    }, {
      owner, ttl_ms, ARGV[a + 2], inbox, ARGV[a + 3], waiter_ms, grant_ms, fence_ms, heal, 'x', '', copies_ms,
    })
  end
end
return answers
