-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: three waits of 990 ms are 30 ms less than the lease: then the waiter writes over
-- the key of an owner who may still work.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for poll = 1, 3 do
      if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
      sleep(990)
    end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
