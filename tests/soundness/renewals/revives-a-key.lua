-- Class: a hold whose renewal never starts
-- Check: --assume none
-- Truth: lease violated
-- Truth: owner-only-release violated
-- Because: the renewal writes without a look. One that is in flight when the release is sent
-- can arrive after it: the key is back, or the next owner's is written over.
return {
  renews = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local token = lock.token
    if not redis("SET", lock.key, token, "NX", "PX", lock.ttl) then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      redis("SET", lock.key, token, "PX", lock.ttl)
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
