-- Class: ownership
-- Check: --assume none
-- Truth: owner-only-release violated
-- Because: who finds another's name at the head of the list takes it away, and leaves its own.
return {
  scripts = {
    join = [[
      if redis.call("llen", KEYS[1]) < 2 then redis.call("rpush", KEYS[1], ARGV[1]) end
      return redis.call("lindex", KEYS[1], 0)
    ]],
  },

  acquire = function(lock)
    if script("join", { lock.key }, { lock.owner }) == lock.owner then return held() end
    redis("LPOP", lock.key)
    return busy()
  end,

  release = function(lock)
    return redis("LREM", lock.key, 1, lock.owner) == 1
  end,
}
