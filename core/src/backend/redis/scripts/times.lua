-- Times are microseconds of the server's clock, whole numbers below 2^53, and are formatted with %.0f: tostring would
-- round them. That takes as long as a read does, so none is formatted twice.

-- As in `times.rs`: how long a place in line lasts, a grant that is not confirmed, a counter, and copies of a request.
local WAITER_MS, GRANT_MS, FENCE_MS, COPIES_MS = 33000, 2000, '172800000', '60000'

-- Who takes a free lock sets the TTL of its counter anew only once in so many microseconds, for that takes as long as
-- two reads.
local FENCE_STEP = 1000000000

-- From here on a number is no whole number to Lua any more, be it a time or a token.
local TOKENS_END = 9007199254740992

-- The time, and as it is written.
local function time()
  local clock = redis.call('TIME')
  local written = clock[1] .. string.sub('000000' .. clock[2], -6)
  return tonumber(written), written
end

