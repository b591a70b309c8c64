-- Class: no-orphan gives up its watch
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: honest-outcome holds
-- Because: two leases after its acquire a helper thread writes a key. The hold may have been
-- given back at once, so a key of that client comes more than one lease after its last
-- operation.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    stop(self.helper)
    self.helper = spawn(function()
      sleep(2 * lock.ttl)
      redis("SET", lock.key .. ":seen", "1", "PX", 2000)
    end)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
