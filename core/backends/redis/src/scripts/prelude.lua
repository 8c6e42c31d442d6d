-- In these scripts, a name in parentheses is the property of the protocol's model (`dev/model`) that the rule ensures.
--
-- A reply is one string of words, because building a list takes as long as building its contents. Each word of a
-- request takes a quarter of the time of a read. So constants are part of the scripts, and the client omits words with
-- a default. The scripts derive the names of rarely needed auxiliary keys from the name of the queue. In a Cluster the
-- call names all keys. Defining these functions takes as long as a read, so the common case comes before these
-- definitions.
--
-- An owner is an id of 36 characters, usually followed by `@` and the label of its manager. The names of tombstones
-- contain the id without the label.
--
-- The lock's key contains its only holder, or one of two markers if the lock can have several holders. With a
-- marker, `shares` has a member for each shared holder or permit, scored with the end of its lease. The lock's key
-- expires with the last of these members.

local function number(n)
  return string.format('%.0f', n)
end

local function aux_key(queue, name)
  return string.sub(queue, 1, -6) .. name
end

