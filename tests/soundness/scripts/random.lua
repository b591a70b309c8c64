-- Class: what a script really uses
-- Check: --assume loss
-- Truth: mutual-exclusion-belief not-holds
-- Truth: honest-outcome not-holds
-- Because: real servers have math.random, so the script does its work. When its request is
-- lost, the client gets neither 0 nor 1, takes that for a success, and another client
-- acquires.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if math.random(3) == 7 then return 0 end
      if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
      return 0
    ]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err and err.definite then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
