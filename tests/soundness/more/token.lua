-- Class: what was right stays right
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-validity holds
-- Truth: mutual-exclusion-effect holds
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: no-orphan holds
-- Truth: honest-outcome holds
-- Truth: deadlock-freedom holds
-- Truth: release-frees holds
-- Check: --assume client-crash
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: no-orphan holds
-- Check: --assume loss
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Check: --assume node-restart-none
-- Truth: mutual-exclusion-belief violated
-- Check: --assume node-restart-always
-- Truth: mutual-exclusion-belief holds
-- Check: --assume clock-jump
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-validity violated
-- Because: the token lock excludes as long as its server keeps the key for the lease: not if
-- the server forgets its keys, nor if its clock jumps over the lease.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local validity = lock.ttl - (now() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
