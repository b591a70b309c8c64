-- Class: renewals
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Because: after a second the thread gives up and says so. The caller's work ends then, long
-- before the key does.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.watch = spawn(function()
      sleep(1000)
      lost()
    end)
    return held()
  end,

  release = function(lock)
    stop(self.watch)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
