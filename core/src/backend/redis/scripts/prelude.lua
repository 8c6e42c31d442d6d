-- Names in parentheses in these scripts are claims of the protocol's model, `dev/model`, that a rule serves.
--
-- A reply is one string of words, because a list takes as long again as its contents. A word of a request takes a fourth
-- of a read. So constants stand in the scripts, words with a default are left out, and the names of auxiliary keys that
-- are seldom needed follow from that of the queue, unless they are given: a Cluster is given all keys. Defining these
-- functions takes as long as a read, so the common case comes before them.
--
-- The lock's key holds the id of its only holder, or one of two marks if several may hold it together. Then `shares` has a
-- member for each share or permit, scored with the end of its lease, and the key lasts as long as the last of them.

local function number(n)
  return string.format('%.0f', n)
end

local function aux_key(queue, name)
  return string.sub(queue, 1, -6) .. name
end

