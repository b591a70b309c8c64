-- Class: watches
-- Check: --assume none
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Truth: deadlock-freedom holds
-- Check: --assume client-pause
-- Truth: owner-only-release holds
-- Check: --assume delay
-- Truth: owner-only-release holds
-- Because: whatever another client does to the key after WATCH makes the watch dirty, and so
-- does the end of the lease. A transaction that its client gave up is still one of the
-- connection that watched, so it does nothing either when it comes late.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local _, unwatched = redis("WATCH", lock.key)
    if unwatched then return failed(unwatched.message) end
    if redis("GET", lock.key) ~= lock.token then
      redis("UNWATCH")
      return false
    end
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    return replies ~= nil and replies[1] == 1
  end,
}
