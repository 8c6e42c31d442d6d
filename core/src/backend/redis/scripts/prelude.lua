-- Names in parentheses in these scripts are claims of the protocol's model, `dev/model`, that a rule serves.
--
-- A reply is one string of words, because building a list takes as long as its contents do. Each word of a request
-- costs a quarter of a read. So constants are part of the scripts, and words with a default are omitted. The names of
-- rarely needed auxiliary keys are derived from that of the queue, unless they are given: a Cluster needs all keys.
-- Defining these functions takes as long as a read, so the common case comes before them.
--
-- The lock's key holds the id of its only holder, or one of two markers if several may hold it together. With a marker,
-- `shares` has a member for each shared holder or permit, scored with the end of its lease. The lock's key expires with
-- the last of them.

local function number(n)
  return string.format('%.0f', n)
end

local function aux_key(queue, name)
  return string.sub(queue, 1, -6) .. name
end

