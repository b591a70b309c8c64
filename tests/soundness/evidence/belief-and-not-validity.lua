-- Class: a trace shows the property that it is about
-- Check: --assume overrun
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-effect violated
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Because: the work outlasts the lease, so two clients believe, and one writes over what the
-- other wrote. But the validity that was stated was over before the key expired, and a late
-- release deletes nothing.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
