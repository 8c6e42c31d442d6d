-- Times are microseconds of the server's clock: whole numbers below 2^53. The scripts format times with %.0f, because
-- tostring would round them. Formatting takes as long as a read, so no script formats a time twice.

-- From this number on Lua does not represent every whole number exactly.
local TOKENS_END = 9007199254740992

-- Returns the time, as a number and as text.
local function time()
  local clock = redis.call('TIME')
  local now_text = clock[1] .. string.sub('000000' .. clock[2], -6)
  return tonumber(now_text), now_text
end

