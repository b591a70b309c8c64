-- Class: rounding
-- Check: --assume none --tick-ms 1000
-- Truth: honest-outcome not-holds
-- Because: two and a half seconds later the key is still there, and the client deletes it and
-- says that it holds. Ticks of a second were asked for, and at the third the key is gone.
return {
  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    sleep(2500)
    if redis("GET", lock.key) ~= lock.token then return busy() end
    redis("DEL", lock.key)
    return held()
  end,

  release = function(lock) end,
}
