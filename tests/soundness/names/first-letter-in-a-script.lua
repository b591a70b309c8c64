-- Class: tokens and owners are not plain texts
-- Check: --assume overrun
-- Truth: owner-only-release not-holds
-- Because: the release compares first letters only, and two random tokens may begin alike: a
-- late release then deletes the next owner's key.
return {
  scripts = {
    give = [[
      local value = redis.call("get", KEYS[1])
      if value and string.byte(value) == string.byte(ARGV[1]) then
        return redis.call("del", KEYS[1])
      end
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
