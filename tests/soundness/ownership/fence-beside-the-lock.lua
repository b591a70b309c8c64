-- Class: whose key it is
-- Check: --assume none
-- Truth: no-orphan holds
-- Truth: lease holds
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-crash
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Because: the counter of fences is declared, grows with each hold, and stays by design: it is
-- nobody's orphan.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
