-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the file says that it renews, but the thread ends after its second round: a lease
-- later the key expires while the work goes on.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local rounds = 0
    self.renewal = every(1000, function()
      rounds = rounds + 1
      redis("PEXPIRE", lock.key, lock.ttl)
      if rounds == 2 then return false end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
