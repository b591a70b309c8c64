-- Class: clocks
-- Check: --assume none
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-belief holds
-- Check: --assume client-skew
-- Truth: mutual-exclusion-validity violated
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release holds
-- Because: the holder measures its validity on the wall clock. Set back by two seconds while
-- it holds, it goes on for two seconds after its key has expired, and another client acquires.
-- The release compares tokens on the server.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
