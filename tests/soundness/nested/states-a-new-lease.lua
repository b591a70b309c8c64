-- Class: nested acquires
-- Check: --assume none
-- Truth: mutual-exclusion-validity violated
-- Truth: mutual-exclusion-belief violated
-- Truth: lease violated
-- Because: the inner acquire only counts, and states a whole lease from then on, though the
-- key has the life that the outer one gave it. The key expires, another client acquires, and
-- both holds are valid. A further inner acquire succeeds though no key is there.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    end
    self.holds = (self.holds or 0) + 1
    return held { validity = lock.ttl }
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
