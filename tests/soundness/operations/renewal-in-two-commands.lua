-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Truth: honest-outcome violated
-- Because: between the GET and the PEXPIRE nothing happens while everybody goes on. A client
-- that stands still there prolongs the lease of the next holder, and says that it renewed.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  renew = function(lock)
    local started = now()
    local value, err = redis("GET", lock.key)
    if err then return failed(err.message) end
    if value ~= lock.token then return false end
    local prolonged, lost = redis("PEXPIRE", lock.key, lock.ttl)
    if lost then return failed(lost.message) end
    if prolonged == 0 then return false end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
