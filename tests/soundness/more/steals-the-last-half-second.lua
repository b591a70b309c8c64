-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: clients come at any time, not only at whole seconds. Who finds between 200 and 800
-- ms left of the key's life takes the lock from an owner who works until it is over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local left, err = redis("PTTL", lock.key)
    if err then return failed(err.message) end
    if left > 200 and left < 800 then
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
