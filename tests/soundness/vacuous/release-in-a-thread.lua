-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: release-frees holds
-- Because: the release starts a thread that deletes the key, and reports success before
-- anything was sent. Once the thread's command is through, another client can acquire.
return {
  acquire = function(lock)
    if self.giving then return busy() end
    if redis("SET", lock.key, "1", "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    self.giving = true
    spawn(function()
      redis("DEL", lock.key)
      self.giving = nil
    end)
    return true
  end,
}
