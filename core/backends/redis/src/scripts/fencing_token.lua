-- Returns the token that follows the fence record, as text, or nil if no token is left. The time is the minimum, in
-- case the server has lost the record (tokens-grow). Also returns the token of the record as a number, or nil.
local function next_token(record, now, now_text)
  -- A token that is a time has 16 digits, followed by a space.
  local last = tonumber(string.sub(record, 1, 17))
  if not last or last >= now then
    last = tonumber(string.match(record, '^%d+')) or 0
    now = math.max(last + 1, now)
    now_text = nil
  end
  return now < TOKENS_END and (now_text or number(now)) or nil, last
end
