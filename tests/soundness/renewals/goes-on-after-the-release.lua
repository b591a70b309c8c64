-- Class: renewals
-- Check: --assume none
-- Truth: lease violated
-- Because: the release does not stop the thread that renews. It writes the key again after
-- the release, when nobody holds the lock.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local token = lock.token
    stop(self.watch)
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.watch = spawn(function()
      sleep(1000)
      redis("SET", lock.key, token, "NX", "PX", lock.ttl)
    end)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
