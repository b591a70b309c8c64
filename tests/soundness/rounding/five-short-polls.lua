-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Check: --assume none --tick-ms 200 --ttl-ticks 15
-- Truth: mutual-exclusion-belief violated
-- Because: five polls, 200 ms apart, take one second. Then the waiter writes over the key of
-- an owner who may work for three.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    for poll = 1, 5 do
      if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
      sleep(200)
    end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
