-- Class: clocks
-- Check: --assume none
-- Truth: refused line 10
-- Because: the two clocks do not begin at the same moment, so what their difference is says
-- nothing.
return {
  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if monotonic() < started + lock.ttl then return held() end
    return failed("too late")
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
