-- Class: times that a script compares
-- Check: --assume none
-- Truth: mutual-exclusion-validity violated
-- Because: a script takes the lock over once its stamp is more than a third of a lease old, while its
-- holder has two thirds left.
return {
  scripts = {
    take = [[
      local at = redis.call("GET", KEYS[1])
      if at and not (tonumber(ARGV[1]) - tonumber(at) > tonumber(ARGV[2]) / 3) then return 0 end
      redis.call("SET", KEYS[1], ARGV[1])
      return 1
    ]],
    "release_if_owner",
  },

  acquire = function(lock)
    self.stamp = now()
    if script("take", { lock.key }, { self.stamp, lock.ttl }) ~= 1 then return busy() end
    return held { validity = lock.ttl - (now() - self.stamp) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { self.stamp }) == 1
  end,
}
