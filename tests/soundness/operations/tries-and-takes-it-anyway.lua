-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-validity violated
-- Truth: honest-outcome violated
-- Truth: lease violated
-- Because: who acquires looks at the reply; who tries does not.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  try_acquire = function(lock)
    redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
