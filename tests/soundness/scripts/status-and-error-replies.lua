-- Class: what a script really uses
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Check: --assume loss
-- Truth: mutual-exclusion-belief violated
-- Because: the script says MINE as a status, or fails with the code TAKEN, which the client
-- reads as an error's first word. When the request is lost, the error has another code, the
-- client takes that for a success, and another client acquires.
return {
  scripts = {
    "release_if_owner",
    take = [[
      if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
        return redis.status_reply("MINE")
      end
      return redis.error_reply("TAKEN by somebody else")
    ]],
  },

  acquire = function(lock)
    local got, err = script("take", { lock.key }, { lock.token, lock.ttl })
    if err and err.code == "TAKEN" then return busy() end
    if got and got ~= "MINE" then return failed(got) end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
