-- Class: what surrounds a script
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Because: HGET of a text is an error on every server, which the script catches in both ways
-- that there are and goes on as it would without: it is the token lock.
return {
  scripts = {
    "release_if_owner",
    take = [[
      redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])
      local read = redis.pcall("hget", KEYS[1], "holder")
      local fine = pcall(redis.call, "hget", KEYS[1], "holder")
      if not read.err or fine then return 0 end
      if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end
      return 0
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
