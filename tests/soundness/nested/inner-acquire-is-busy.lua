-- Class: nested acquires
-- Check: --assume none
-- Truth: reentrancy violated
-- Truth: mutual-exclusion-belief holds
-- Because: the holder's own key makes its inner acquire busy.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
