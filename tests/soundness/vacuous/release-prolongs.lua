-- Class: a verdict that says nothing
-- Check: --assume none
-- Truth: release-frees violated
-- Truth: deadlock-freedom holds
-- Because: the release gives its own key a whole lease again, and the others wait for that
-- lease.
return {
  scripts = {
    give = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token, lock.ttl }) == 1
  end,
}
