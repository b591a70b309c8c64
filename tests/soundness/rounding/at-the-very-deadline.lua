-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a client that sleeps until its deadline wakes at that millisecond or a little
-- later, as it happens. At that one it takes whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local deadline = now() + 2000
    sleep(2000)
    if now() == deadline then
      redis("SET", lock.key, lock.token, "PX", lock.ttl)
      return held()
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
