-- Class: times beyond the horizon
-- Check: --ttl-ticks 2 --assume none
-- Truth: mutual-exclusion-validity violated
-- Because: a client that first tried more than eight leases ago states a validity of two
-- leases beside a key that lives for one: the key expires, and another client's hold is valid
-- as well.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    self.born = self.born or now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    if now() - self.born > 8 * lock.ttl then return held { validity = 2 * lock.ttl } end
    return held { validity = lock.ttl }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
