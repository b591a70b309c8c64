-- Class: whose key it is
-- Check: --assume none
-- Truth: no-orphan not-holds
-- Because: nothing says that the counter stays by design, it never expires, and it is there
-- when its writer's last hold is long over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    redis("INCR", lock.key .. ":count")
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
