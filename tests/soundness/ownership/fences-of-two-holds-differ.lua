-- Class: whose key it is
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: a counter that grows gives each hold another number. From its second hold on a
-- client finds that, deletes the key that it has just set, and works on.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    local last = self.fence
    self.fence = fence
    if last and last ~= fence then redis("DEL", lock.key) end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
