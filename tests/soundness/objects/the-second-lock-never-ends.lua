-- Class: a crash that leaves one of two locks behind
-- Check: --assume client-crash
-- Truth: deadlock-freedom violated
-- Truth: no-orphan violated
-- Because: only the first key has an expiry. Who dies with both leaves the second, and from then
-- on everybody gets the first lock and nobody the second.
return {
  objects = 2,
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local set
    if lock.key == "lock" then
      set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    else
      set = redis("SET", lock.key, lock.token, "NX")
    end
    return set and held() or busy()
  end,
  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
