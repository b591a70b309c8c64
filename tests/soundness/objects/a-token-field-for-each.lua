-- Class: a field of the handle of each lock
-- Check: --assume none
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Because: each lock has a token of its own, and gives back what it took.
return {
  objects = { count = 2, state = "own" },
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
