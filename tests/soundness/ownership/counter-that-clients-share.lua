-- Class: ownership
-- Check: --assume none
-- Truth: owner-only-release holds
-- Because: two hold, and one counts down what the other counted up last; that is what a counter is for.
return {
  acquire = function(lock)
    if (redis("INCR", lock.key) or 9) <= 2 then return held() end
    redis("DECR", lock.key)
    return busy()
  end,

  release = function(lock)
    return (redis("DECR", lock.key) or 0) >= 0
  end,
}
