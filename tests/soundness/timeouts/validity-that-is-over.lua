-- Class: time-outs hide delays
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-validity holds
-- Because: a success whose validity was over a second ago is none.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = -1000 }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
