-- Class: ownership
-- Check: --assume none
-- Truth: refused
-- Because: a fence that expires begins anew, and then it is no fence.
return {
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("INCR", lock.key .. ":fence")
    redis("PEXPIRE", lock.key .. ":fence", 60000)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
