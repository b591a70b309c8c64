-- Class: rounding
-- Check: --assume none --tick-ms 1000
-- Truth: mutual-exclusion-belief not-holds
-- Because: the key lives for two and a half seconds, and the holder may work for nearly three.
-- Ticks of a second were asked for, so none divides that life.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", 2500) then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
