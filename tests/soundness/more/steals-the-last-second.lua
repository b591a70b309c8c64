-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release violated
-- Because: who finds less than a second left of the key's life takes the lock from an owner
-- who works until it is over.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local left, err = redis("PTTL", lock.key)
    if err then return failed(err.message) end
    if left >= 1000 then return busy() end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
