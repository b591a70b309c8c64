-- Class: queues
-- Check: --assume none
-- Truth: no-lost-wake-up violated
-- Truth: mutual-exclusion-belief holds
-- Because: the release deletes the lock and pushes nothing. Who waits in BLPOP sleeps on, while
-- the lock is free.
return {
  keys = { lock = "{key}", queue = { "{key}:signal" } },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    on(lock.nodes[1], { timeout = 4000 }).redis("BLPOP", lock.key .. ":signal", 2)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
