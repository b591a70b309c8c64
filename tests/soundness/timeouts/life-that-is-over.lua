-- Class: timeouts
-- Check: --assume none
-- Truth: honest-outcome holds
-- Truth: warns acquire never succeeded
-- Because: the key would have to end before now, which Redis refuses, and nobody ever holds.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    sleep(1000)
    if not redis("SET", lock.key, lock.token, "NX", "PX", started - now()) then return busy() end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
