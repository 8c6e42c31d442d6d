-- Returns the outcome of an earlier holder, if the server keeps it. The rest of the script then does not run.
local outcome = redis.call('GET', KEYS[7])
if outcome then
  local _, now_text = time()
  return {'recorded ' .. now_text, outcome}
end

