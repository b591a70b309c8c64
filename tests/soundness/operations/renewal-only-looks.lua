-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: lease holds
-- Because: the key has the token, and its end stays where it was: nothing was renewed.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  renew = function(lock)
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    if value ~= lock.token then return false end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
