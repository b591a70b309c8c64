-- Class: a field of the handle that two locks of a client share
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Because: acquiring the second lock writes its token over that of the first, so the first is
-- never given back, and it has no expiry.
return {
  objects = { count = 2, state = "shared" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX") then return busy() end
    self.token = lock.token
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { self.token }) == 1
  end,
}
