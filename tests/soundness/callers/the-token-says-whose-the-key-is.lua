-- Class: a handle that two threads share
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release violated
-- Because: a thread that is told that the lock is busy takes the token in the handle for one that
-- is left over, and deletes the key that has it. It is the other thread's, which holds.
return {
  callers = { count = 2, handle = "shared" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then
      if self.token ~= nil then
        -- Somebody's of this process: it can be taken over.
        script("release_if_owner", { lock.key }, { self.token })
      end
      return busy()
    end
    self.token = lock.token
    return held()
  end,

  release = function(lock)
    local gone = script("release_if_owner", { lock.key }, { lock.token })
    self.token = nil
    return gone == 1
  end,
}
