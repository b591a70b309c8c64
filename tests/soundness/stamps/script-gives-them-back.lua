-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom not-holds
-- Because: a script gives its two arguments back, which need not be one text. Where they differ,
-- the lock is taken for ever.
return {
  scripts = { "release_if_owner", both = "return { ARGV[1], ARGV[2] }" },

  acquire = function(lock)
    local both = script("both", { lock.key }, { now(), now() })
    if both and both[1] ~= both[2] then redis("SET", lock.key, "taken") end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
