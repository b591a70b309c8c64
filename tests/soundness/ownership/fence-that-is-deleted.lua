-- Class: whose key it is
-- Check: --assume none
-- Truth: refused
-- Because: what the file calls a fence is deleted with each release, so it is none.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { fence = redis("INCR", lock.key .. ":fence") }
  end,

  release = function(lock)
    redis("DEL", lock.key .. ":fence")
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
