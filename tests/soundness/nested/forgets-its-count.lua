-- Class: nested holds
-- Check: --assume none
-- Truth: reentrancy violated
-- Truth: mutual-exclusion-belief violated
-- Because: the count of holds is forgotten by the inner release, so that one deletes the key,
-- and the outer hold goes on without it.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not self.mine then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
      self.mine = true
    end
    return held()
  end,

  release = function(lock)
    if not self.mine then return false end
    self.mine = nil
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
