-- The newest token of a resource, which only grows. Tokens are compared as texts of digits: as Lua's numbers those
-- above 2^53 would be rounded.
local function admit_token(mark, token)
  local newest = redis.call('GET', mark)
  if newest then
    if not newest:find('^[1-9]%d*$') then
      return redis.error_reply('ERR the mark of this resource holds something else than a token')
    end
    if #newest > #token or (#newest == #token and newest > token) then
      return newest
    end
  end
  -- The newest is written again, too: a server that takes no writes (READONLY, NOREPLICAS) refuses it here, and may not
  -- know of a newer one. OOM is said after these alone, by a server that takes writes and has this token already.
  local written = redis.pcall('SET', mark, token)
  if written.err then
    -- Before 7.0 a server says first where the script stood.
    local why = written.err:gsub('^@user_script: %d+: ', '')
    if newest ~= token or not why:find('^%-?OOM') then
      return written
    end
  end
  return token
end
