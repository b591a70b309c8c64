-- Class: which token is which
-- Check: --assume none --clients 1
-- Truth: honest-outcome violated
-- Truth: reentrancy not-holds
-- Because: a thread of the last hold writes that hold's token once more if the key is there.
-- The next release does not find its own token, and says that it worked.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    self.holds = (self.holds or 0) + 1
    if self.holds > 1 then return held() end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    self.holds = nil
    return busy()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    self.holds = nil
    local token = lock.token
    script("release_if_owner", { lock.key }, { token })
    if not self.late then
      self.late = spawn(function()
        sleep(lock.ttl / 3)
        redis("SET", lock.key, token, "XX", "PX", lock.ttl)
        self.late = nil
      end)
    end
    return true
  end,
}
