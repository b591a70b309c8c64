-- Class: what a script really uses
-- Check: --assume none
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Because: the script sets the key and then fails, since "soon" is no number. What it has
-- written stays, for ever, though the client is told of an error.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if redis.call("setnx", KEYS[1], ARGV[1]) == 0 then return 0 end
      return redis.call("pexpire", KEYS[1], "soon")
    ]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
