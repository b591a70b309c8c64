-- Class: which token is which
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Because: the script answers with the holder's token, as a status. The client compares it
-- with its own: after its own SET they are equal.
return {
  scripts = {
    "release_if_owner",
    take = [[
      redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
      return { ok = redis.call("get", KEYS[1]) }
    ]],
  },

  acquire = function(lock)
    local holder, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if holder == lock.token then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
