-- Class: times as scores
-- Check: --assume none --property assertion
-- Truth: assertion holds
-- Check: --assume client-skew --property assertion
-- Truth: assertion violated
-- Check: --assume clock-jump --property assertion
-- Truth: assertion violated
-- Because: the server's clock and the client's show one time unless one of them was set: then they are more
-- than a second apart.
return {
  scripts = {
    take = [[
      local t = redis.call("TIME")
      local now = math.floor((t[1] * 1000000 + t[2]) / 1000)
      if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return tostring(now) end
      return 0
    ]],
    "release_if_owner",
  },

  acquire = function(lock)
    local began = now()
    local at, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if at == 0 then return busy() end
    assert_(time(at) - began > -1000 and time(at) - began < 1000, "both clocks show one time")
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
