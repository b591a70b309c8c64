-- Class: a pause between the look and the send
-- Check: --assume client-pause
-- Truth: owner-only-release holds
-- Truth: lease holds
-- Truth: deadlock-freedom holds
-- Truth: mutual-exclusion-belief violated
-- Because: look and deed are one step of the server, which a pause of the client cannot part,
-- so nobody else's key is touched. A paused holder believes for longer than its key lives.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local validity = lock.ttl - (now() - started)
    if validity > 0 then return held { validity = validity } end
    return failed("too late")
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
