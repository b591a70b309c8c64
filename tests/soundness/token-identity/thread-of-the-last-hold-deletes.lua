-- Class: which token is which
-- Check: --assume none
-- Truth: lease holds
-- Truth: owner-only-release holds
-- Check: --assume none --param released=0
-- Truth: lease violated
-- Because: a thread of the last hold deletes the key if it has that hold's token still, and
-- leaves a mark. After a release the token is gone for good, whatever holds there are since.
return {
  params = { released = 1 },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local token = lock.token
    if lock.params.released == 1 then script("release_if_owner", { lock.key }, { token }) end
    if not self.late then
      self.late = spawn(function()
        sleep(lock.ttl / 3)
        if script("release_if_owner", { lock.key }, { token }) == 1 then redis("SET", "mark", lock.owner) end
        self.late = nil
      end)
    end
  end,
}
