-- Releases a lock for which nobody waits, as `leave.lua` would, in as few steps as that needs.
local lock, queue = KEYS[1], KEYS[2]
local owner, copies_until, named = ARGV[1], tonumber(ARGV[2] or 0), ARGV[3]
local holder, held
if not named then
  holder = redis.call('GET', lock)
  held = holder == owner
  if held then
    -- What comes first cannot fail for want of memory; after it, nothing else does.
    redis.call('DEL', lock)
    holder = false
    if copies_until == 0 and redis.call('EXISTS', queue) == 0 then
      return 'left'
    end
  end
end

