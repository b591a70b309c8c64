-- Class: nested acquires
-- Check: --assume none
-- Truth: reentrancy violated
-- Truth: lease violated
-- Truth: mutual-exclusion-belief violated
-- Because: the inner release deletes the key while the outer hold goes on: another client
-- acquires. A further inner acquire reports success though no key is there.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    end
    self.holds = (self.holds or 0) + 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
