-- Class: tokens and owners are not plain texts
-- Check: --assume loss --timeout-ticks 1
-- Truth: mutual-exclusion-belief not-holds
-- Because: a release is lost, so the key stays with the rest of its life. The client finds its
-- older token there and holds again for a whole lease, but the key expires before that, and
-- another client acquires.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then
      local value = redis("GET", lock.key)
      if value == nil or value ~= self.last then return busy() end
      return held()
    end
    self.last = lock.token
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { self.last }) == 1
  end,
}
