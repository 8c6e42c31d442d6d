-- Records a token if it is at least the newest of the resource, and returns the newest. Tokens are compared as texts of
-- digits: Lua's numbers would round those above 2^53.
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
  -- The newest token is written again, too: a server that rejects writes (READONLY, NOREPLICAS) rejects it here, and
  -- may not know a newer one. OOM is checked after these, by a server that accepts writes and already has this token.
  local written = redis.pcall('SET', mark, token)
  if written.err then
    -- Before 7.0 a server puts the script position first.
    local why = written.err:gsub('^@user_script: %d+: ', '')
    if newest ~= token or not why:find('^%-?OOM') then
      return written
    end
  end
  return token
end
