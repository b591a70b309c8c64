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
}
