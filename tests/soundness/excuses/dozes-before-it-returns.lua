-- Class: outcomes as excuses
-- Check: --assume none
-- Truth: lease violated
-- Because: the client sleeps for longer than the lease between its SET and its success. By
-- then the key has expired.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    sleep(lock.ttl + 1000)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
