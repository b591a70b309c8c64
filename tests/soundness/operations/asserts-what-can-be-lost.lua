-- Class: what a lock asserts of itself
-- Check: --assume none
-- Truth: assertion holds
-- Truth: honest-outcome holds
-- Check: --assume overrun
-- Truth: assertion violated
-- Because: while work ends in time, the key has the token when the release looks. A holder
-- who works on finds it gone. The client goes on after an assertion.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held()
  end,

  release = function(lock)
    local value, err = redis("GET", lock.key)
    assert_(err or value == lock.token, "the holder's token is there until it is released")
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
