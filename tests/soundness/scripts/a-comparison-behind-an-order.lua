-- Class: times that a script compares
-- Check: --assume none
-- Truth: mutual-exclusion-belief unknown
-- Because: whether the script compares times at all depends on the order in which HGETALL lists the
-- fields, which nobody promises. Where the stamp comes first, a client that read its clock a moment
-- before the holder did takes the lock over.
return {
  scripts = {
    take = [[
      local all = redis.call("HGETALL", KEYS[1])
      for at = 1, #all, 2 do
        if all[at] == "a" then return 0 end
        if tonumber(ARGV[1]) < tonumber(all[at + 1]) then break end
      end
      redis.call("HSET", KEYS[1], "a", "1", "t", ARGV[1])
      redis.call("PEXPIRE", KEYS[1], ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    local started = now()
    if script("take", { lock.key }, { started, lock.ttl }) ~= 1 then return busy() end
    return held()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
