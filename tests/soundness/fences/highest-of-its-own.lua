-- Class: fences
-- Check: --assume none
-- Truth: fence-monotonicity holds
-- Truth: mutual-exclusion-effect holds
-- Because: the highest of the fences that a client has drawn is the last one.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    if not fence then return failed("no fence") end
    self.fence = math.max(fence, self.fence or fence)
    return held { fence = self.fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
