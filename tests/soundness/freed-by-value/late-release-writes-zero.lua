-- Class: freed-by-value
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: 1 is taken and 0 is free, and a late release writes 0 over the 1 of whoever holds by then.
return {
  scripts = {
    take = [[
      if redis.call('get', KEYS[1]) == '1' then return 0 end
      redis.call('set', KEYS[1], '1', 'PX', ARGV[1])
      return 1]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.ttl })
    if err then return failed(err.message) end
    if got == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("SET", lock.key, "0", "KEEPTTL") ~= nil
  end,
}
