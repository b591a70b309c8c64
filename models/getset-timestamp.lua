-- The value is the time when the lock ends on its owner's clock; who finds it passed takes
-- over by GETSET and comparison: https://redis.io/commands/setnx/, "Handling deadlocks".
--
-- Faults that belong to it: the clients' clocks decide, a loser's GETSET has
-- already overwritten the winner's value, and DEL asks nobody.
return {
  name = "getset-timestamp",
  description = "stored expiry on the client's clock, takeover by GETSET; plain DEL",
  ttl_step = 1000, -- EXPIRE takes whole seconds
  -- The document forgives the clients' clocks one second of difference.
  params = { tolerance = 1000 },

  acquire = function(lock)
    local started = now()
    local expires = started + (lock.ttl + lock.params.tolerance)
    local set, err = redis("SETNX", lock.key, expires)
    if err then return failed(err.message) end
    if set == 0 then
      local old, unread = redis("GET", lock.key)
      if unread then return failed(unread.message) end
      if not old then return busy() end
      local ends = time(old)
      if not ends then return failed("the stored value is not a time") end
      if ends >= started then return busy() end
      local previous, unset = redis("GETSET", lock.key, expires)
      if unset then return failed(unset.message) end
      if previous ~= old then return busy() end
    end
    local _, late = redis("EXPIRE", lock.key, lock.ttl / 1000)
    if late then return failed(late.message) end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[The value is the time at which the lock ends on its owner's clock, plus a second of
      tolerance. A client that finds it passed writes its own time with GETSET, and has the lock
      if GETSET returns what it had read before. EXPIRE follows in a second command, and the
      release is a plain DEL.]],
    claims = [[The article says that GETSET settles the takeover race, that a loser moves the stored time
      by so little that it does not matter, and that one second covers the difference between
      clocks. A later addition admits that a holder that is late deletes another client's lock.]],
    repair = [[Use no client's clock: let the server expire the key, by SET with NX and PX. Write a token
      and delete only if the key still has it, in one script. Both together are the lock "token".]],
  },
}
