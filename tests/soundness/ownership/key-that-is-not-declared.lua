-- Class: whose key it is
-- Check: --assume none
-- Truth: refused
-- Because: the file declares its keys, and writes one that is not among them.
return {
  keys = { lock = "{key}" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("SET", lock.key .. ":note", "1", "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
