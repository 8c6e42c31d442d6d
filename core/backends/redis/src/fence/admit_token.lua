-- Records a token if it is at least the newest token of the resource, and returns the newest token. Tokens are compared
-- as texts of digits, because Lua would round numbers above 2^53.
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
  -- The newest token is written again, too, because a server that rejects writes (READONLY, NOREPLICAS) may not know a
  -- newer token. An OOM error counts, too, because Valkey 9.1 checks for OOM before these errors.
  local written = redis.pcall('SET', mark, token)
  return written.err and written or token
end
