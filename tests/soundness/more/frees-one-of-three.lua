-- Class: more locks
-- Check: --assume none --clients 1
-- Truth: honest-outcome violated
-- Because: the release deletes its key on the first of three servers only, and says that it
-- gave the lock back.
return {
  nodes = { default = 3, min = 3, max = 3 },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for node = 1, 3 do
      if not on(node).redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
