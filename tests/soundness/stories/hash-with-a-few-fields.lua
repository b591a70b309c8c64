-- Class: one story, one trace
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Truth: deadlock-freedom holds
-- Because: it is a token lock whose hash also says who came, when, and for what.
return {
  scripts = {
    take = [[
      if redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("hset", KEYS[1], "token", ARGV[1], "owner", ARGV[2], "since", ARGV[3], "mode", ARGV[4])
      redis.call("pexpire", KEYS[1], ARGV[5])
      return 1
    ]],
    give = [[
      if redis.call("hget", KEYS[1], "token") ~= ARGV[1] then return 0 end
      return redis.call("del", KEYS[1])
    ]],
  },

  acquire = function(lock)
    local values = { lock.token, lock.owner, now(), lock.mode, lock.ttl }
    if script("take", { lock.key }, values) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
