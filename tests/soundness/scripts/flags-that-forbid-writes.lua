-- Class: what a script really uses
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Because: the first line promises that the script writes nothing, so the server refuses its
-- SET each time: nobody ever acquires.
return {
  scripts = {
    "release_if_owner",
    take = [[#!lua flags=no-writes
      if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 1 end
      return 0
    ]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
