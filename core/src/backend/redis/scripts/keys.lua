-- What the scripts are about. Names in parentheses are the claims of the protocol's model, `dev/model`, that a rule
-- serves. Times are microseconds of the server's clock, whole numbers below 2^53, and are formatted with %.0f: tostring
-- would round them. That takes as long as a read does, so none is formatted twice; and an answer is one string of words,
-- for a list takes as long again. A word of a request takes a fourth of that: what is always the same is said here, what
-- is mostly the same is left out, and companions of a lock that are seldom needed are named after its queue, unless they
-- are given: a Cluster is told of all keys.
--
-- The lock's key holds the id of its only holder, or one of two marks when several may hold it at once: then `shares`
-- has a member for each share or permit, scored with the end of its lease, and the key lasts as long as the last.

-- As in `times.rs`: how long a place in line lasts, a grant that is not confirmed, a counter, and copies of a request.
local WAITER_MS, GRANT_MS, FENCE_MS, COPIES_MS = 33000, 2000, '172800000', '60000'

-- From here on a number is no whole number to Lua any more.
local TOKENS_END = 9007199254740992

local function number(n)
  return string.format('%.0f', n)
end

local function companion(queue, name)
  return string.sub(queue, 1, -6) .. name
end

-- The time, and as it is written.
local function time()
  local clock = redis.call('TIME')
  local written = clock[1] .. string.sub('000000' .. clock[2], -6)
  return tonumber(written), written
end

-- The token to be drawn next, after what the fence record says, as it is written; none if there is none left. The time
-- is a floor for a counter that was lost (tokens-grow).
local function next_token(record, now, written)
  -- A token that was the time has 16 digits, and a space comes after it.
  local last = tonumber(string.sub(record, 1, 17))
  if not last or last >= now then
    last = tonumber(string.match(record, '^%d+')) or 0
    now = math.max(last + 1, now)
    written = nil
  end
  return now < TOKENS_END and (written or number(now)) or nil
end
