-- Class: which token is which
-- Check: --clients 1 --assume loss --budget loss=2 --timeout-ticks 1
-- Truth: deadlock-freedom violated
-- Check: --clients 1 --assume loss --timeout-ticks 1
-- Truth: deadlock-freedom holds
-- Because: each attempt registers its token, and one whose reply is lost leaves it there for
-- ever. Two of them are two fields, also those of one client, and with two nobody registers
-- any more.
return {
  scripts = {
    "release_if_owner",
    register = [[
      if redis.call("hlen", KEYS[1]) >= 2 then return 0 end
      return redis.call("hset", KEYS[1], ARGV[1], "1")
    ]],
  },

  acquire = function(lock)
    local tries = lock.key .. ":tries"
    local registered, err = script("register", { tries }, { lock.token })
    if err then return failed(err.message) end
    if registered == 0 then return busy() end
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    redis("HDEL", tries, lock.token)
    if set then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
