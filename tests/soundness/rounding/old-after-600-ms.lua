-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Check: --assume none --ttl-ticks 3 --tick-ms 1000
-- Truth: mutual-exclusion-belief violated
-- Because: the lease that is asked for is three seconds, and after 600 ms a waiter takes the
-- lock over, while its owner works. Whoever shortens the lease so that 50 ms become a tick of
-- it answers another question.
return {
  acquire = function(lock)
    for attempt = 1, 2 do
      if redis("SET", lock.key, now(), "NX", "PX", lock.ttl) then return held() end
      local since = time(redis("GET", lock.key))
      if since and now() - since > 600 then
        redis("SET", lock.key, now(), "PX", lock.ttl)
        return held()
      end
      if attempt < 2 then sleep(50) end
    end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
