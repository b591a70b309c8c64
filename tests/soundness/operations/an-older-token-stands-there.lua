-- Class: what a holder asks of its lock
-- Check: --assume delay
-- Truth: honest-outcome holds
-- Truth: owner-only-release violated
-- Because: the SET of an attempt that was given up can arrive late and put its token over
-- that of the same client's present hold. Then the lock that stands there is the client's,
-- and not this hold's: it says so, and that is no lie. Over another client's, it is a theft
-- all the same; what a release takes away is its own.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local there, err = redis("EXISTS", lock.key)
    if err then return failed(err.message) end
    if there == 1 then return busy() end
    local set, lost = redis("SET", lock.key, lock.token, "PX", lock.ttl)
    if lost then return failed(lost.message) end
    return held()
  end,

  is_held = function(lock)
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    return value == lock.token
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
