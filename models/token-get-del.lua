-- A token that only its owner knows; the release reads it, compares in the client and
-- deletes in a second command.
--
-- A fault that belongs to it: between GET and DEL the lease can end and another client can
-- acquire; its key is deleted then.
return {
  name = "token-get-del",
  description = "SET NX EX with a token; release by GET, a comparison in the client, and DEL",
  ttl_step = 1000, -- EX takes whole seconds

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "EX", lock.ttl / 1000, "NX")
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local value, unread = redis("GET", lock.key)
    if unread then return failed(unread.message) end
    if value ~= lock.token then return false end
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
    return true
  end,

  about = {
    works = [[SET with NX and EX writes a token that only its owner knows. The release reads the key with
      GET and compares in the client. If the token is its own, it sends DEL as a second command.]],
    claims = [[An article offers the comparison so that a client no longer deletes another one's lock by
      mistake. It then notes that reading and deleting are two steps again, and moves them into a
      script.]],
    repair = [[Compare and delete in one step on the server: in a script ("token"), or with DELIFEQ where
      the server is Valkey 9 ("delifeq"). State a validity, counted from before the request, so
      that the owner knows when to stop.]],
  },
}
