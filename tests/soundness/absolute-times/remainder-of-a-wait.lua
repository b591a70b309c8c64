-- Class: derived and absolute times
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: how long a wait took has a remainder by seven that can be anything. If it is three,
-- the client takes whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    sleep(1000)
    if (now() - started) % 7 == 3 then
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
