-- Class: which token is which
-- Check: --assume overrun
-- Truth: owner-only-release not-holds
-- Because: of the token's hash only the first digit is compared: one in sixteen late releases
-- deletes the next owner's key.
return {
  scripts = {
    give = [[
      local value = redis.call("get", KEYS[1])
      if not value then return 0 end
      local own, other = redis.sha1hex(ARGV[1]), redis.sha1hex(value)
      if string.sub(own, 1, 1) == string.sub(other, 1, 1) then return redis.call("del", KEYS[1]) end
      return 0
    ]],
  },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
