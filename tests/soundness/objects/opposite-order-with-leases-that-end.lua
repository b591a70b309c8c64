-- Class: two locks in opposite order
-- Check: --assume none
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief violated
-- Because: nobody waits for ever, since the first lock of each ends by itself. Whoever waits for
-- its second lock as long as that has lost the first, and does not know.
return {
  objects = { count = 2, order = "opposite" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    while not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) do sleep(1000) end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
