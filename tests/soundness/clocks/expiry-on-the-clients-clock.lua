-- Class: clocks
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Check: --assume client-skew
-- Truth: mutual-exclusion-belief violated
-- Truth: lease violated
-- Because: the server lets the key end at a time of the client's clock. Two seconds behind,
-- the key lives for one second of a lease of three; two seconds ahead, for five.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PXAT", now() + lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
