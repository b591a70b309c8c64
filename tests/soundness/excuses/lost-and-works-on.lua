-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-validity holds
-- Because: after a second a thread says that the lock is lost, and then deletes its key. The
-- caller's work goes on until it calls release, and another client acquires before that. Its
-- validity was over when it was told.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.watch = spawn(function()
      sleep(1000)
      lost()
      script("release_if_owner", { lock.key }, { token })
    end)
    return held()
  end,

  release = function(lock)
    stop(self.watch)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
