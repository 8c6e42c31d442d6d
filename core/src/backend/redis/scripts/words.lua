-- What the scripts are about. Names in parentheses are the claims of the protocol's model, `dev/model`, that a rule
-- serves. An answer is one string of words, for a list takes as long again as what it says. A word of a request takes a
-- fourth of a read: what is always the same is said by the scripts, what is mostly the same is left out, and companions
-- of a lock that are seldom needed are named after its queue, unless they are given: a Cluster is told of all keys. To
-- define what follows takes as long as a read: what is mostly asked for is done before.
--
-- The lock's key holds the id of its only holder, or one of two marks when several may hold it at once: then `shares`
-- has a member for each share or permit, scored with the end of its lease, and the key lasts as long as the last.

local function number(n)
  return string.format('%.0f', n)
end

local function companion(queue, name)
  return string.sub(queue, 1, -6) .. name
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
