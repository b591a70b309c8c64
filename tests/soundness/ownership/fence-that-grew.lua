-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: the second fence of a client is above its first one. Then it deletes the key that
-- it has just set, and works on.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    if not fence then return failed("no fence") end
    local last = self.fence or fence
    self.fence = fence
    if last < fence then redis("DEL", lock.key) end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
