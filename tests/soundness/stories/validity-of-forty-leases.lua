-- Class: one story, one trace
-- Check: --assume none
-- Truth: mutual-exclusion-validity violated
-- Truth: mutual-exclusion-belief violated
-- Because: the key lives for one lease, and the client is told that it holds for forty.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = 40 * lock.ttl }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
