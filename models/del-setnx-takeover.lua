-- The value is the time when the lock ends on its owner's clock; who finds it passed deletes
-- the key and tries again. The manual page of SETNX warns of the race:
-- https://redis.io/commands/setnx/, "Handling deadlocks".
--
-- A fault that belongs to it: the second of two who found it passed deletes the key that the
-- first one has just set. GETSET is the repair (getset-timestamp).
return {
  name = "del-setnx-takeover",
  description = "stored expiry on the client's clock, takeover by DEL and SETNX; plain DEL",
  ttl_step = 1000, -- EXPIRE takes whole seconds

  acquire = function(lock)
    local started = now()
    local expires = started + lock.ttl
    local set, err = redis("SETNX", lock.key, expires)
    if err then return failed(err.message) end
    if set == 0 then
      local old, unread = redis("GET", lock.key)
      if unread then return failed(unread.message) end
      if not old then return busy() end
      local ends = time(old)
      if not ends then return failed("the stored value is not a time") end
      if ends >= started then return busy() end
      local _, kept = redis("DEL", lock.key)
      if kept then return failed(kept.message) end
      set, err = redis("SETNX", lock.key, expires)
      if err then return failed(err.message) end
      if set == 0 then return busy() end
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
    works = [[The value is the time at which the lock ends, on its owner's clock. A client that finds that
      time passed deletes the key and sends SETNX again. EXPIRE follows as a second safeguard, and
      the release is a plain DEL.]],
    claims = [[An article considers it as a way out when a client has died between SETNX and EXPIRE, and
      rejects it: two clients can find the time passed, and the second deletes the key that the
      first has just set. The manual of SETNX warns of the same race.]],
    repair = [[Let the server end the lock: SET with NX and PX needs no stored time, no takeover and no
      client's clock. Where a takeover has to stay, replace DEL and SETNX by one GETSET and
      compare what it returns ("getset-timestamp"). Release with a token, as "token" does.]],
  },
}
