-- Times are microseconds of the server's clock, whole numbers below 2^53, and are formatted with %.0f: tostring would
-- round them. That takes as long as a read does, so none is formatted twice.

-- From here on a number is no whole number to Lua any more, be it a time or a token.
local TOKENS_END = 9007199254740992

-- The time, and as it is written.
local function time()
  local clock = redis.call('TIME')
  local written = clock[1] .. string.sub('000000' .. clock[2], -6)
  return tonumber(written), written
end

