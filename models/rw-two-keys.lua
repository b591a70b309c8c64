-- A read-write lock of two keys: readers set one, the writer sets the other, and each
-- script looks at both.
--
-- Faults that belong to it: all readers share one key that counts nothing, so the first
-- one that releases takes the lock from the others. Values are constant and release is a
-- plain DEL, so it also takes away what is somebody else's by then. And the two keys may
-- lie in different slots: a Redis Cluster refuses the scripts.
return {
  name = "rw-two-keys",
  description = "read-write: one key for readers, one for the writer, by script; plain DEL",
  ttl_step = 1000, -- EX takes whole seconds
  keys = { lock = { "{key}:read", "{key}:write" } },
  scripts = { "rw_read", "rw_write" },

  acquire_read = function(lock)
    local got, err = script("rw_read", { lock.key .. ":read", lock.key .. ":write" }, { lock.ttl / 1000 })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  acquire_write = function(lock)
    local got, err = script("rw_write", { lock.key .. ":read", lock.key .. ":write" }, { lock.ttl / 1000 })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  -- Says nothing about its effect.
  release = function(lock)
    local _, err = redis("DEL", lock.key .. ":" .. lock.mode)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[A reader's script sets the readers' key for the lease, unless the writer's key exists. A
      writer's script sets the writer's key, unless one of the two exists. Release deletes the key
      of the mode that was held.]],
    claims = [[That readers share the lock and a writer has it alone, on a single server. Its article names
      two limits itself: a reader may delete the key of other readers, and on a cluster the two
      keys may lie on different servers.]],
    repair = [[Count the readers, or give each an entry of its own, so that the last one to leave deletes
      the key. Store a token for the writer and compare it in a script before the deletion. On a
      cluster give both keys one hash tag.]],
  },
}
