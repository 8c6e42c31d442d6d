-- What the scripts are about. Names in parentheses are the claims of the protocol's model, `dev/model`, that a rule
-- serves. Times are microseconds of the server's clock, whole numbers below 2^53, and are formatted with %.0f: tostring
-- would round them. That takes as long as a read does, so none is formatted twice; and an answer is one string of words,
-- for a list takes as long again.
--
-- The lock's key holds the id of its only holder, or one of two marks when several may hold it at once: then `shares`
-- has a member for each share or permit, scored with the end of its lease, and the key lasts as long as the last.
local lock, fence, queue, leases, shares = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local function number(n)
  return string.format('%.0f', n)
end

-- From here on a number is no whole number to Lua any more.
local TOKENS_END = 9007199254740992

-- The token to be drawn next, after what the fence record says. The time is a floor for a counter that was lost
-- (tokens-grow).
local function next_token(record, now)
  return math.max((tonumber(string.match(record or '', '^%d+')) or 0) + 1, now)
end

