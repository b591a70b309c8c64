-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a sleep of a second takes 1000 ms or a little more, as it happens. With exactly
-- 1000 the client takes whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    sleep(1000)
    if now() - started == 1000 then
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
