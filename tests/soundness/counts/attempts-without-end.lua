-- Class: counts without a cap
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: deadlock-freedom holds
-- Because: it counts all attempts on a server, for ever, and nothing ever asks how many they
-- are but whether there was one.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local count, err = redis("INCR", "attempts")
    if err then return failed(err.message) end
    if count < 1 then return failed("no attempt") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
