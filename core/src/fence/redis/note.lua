-- The newest token of a resource, which only grows. Tokens are compared as texts of digits: as Lua's numbers those
-- above 2^53 would be rounded.
local function note(mark, token)
  local newest = redis.call('GET', mark)
  if newest then
    if not newest:find('^[1-9]%d*$') then
      return redis.error_reply('ERR the mark of this resource holds something else than a token')
    end
    if #newest > #token or (#newest == #token and newest > token) then
      return newest
    end
  end
  if newest ~= token then
    redis.call('SET', mark, token)
  end
  return token
end
