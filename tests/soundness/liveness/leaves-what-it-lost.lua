-- Class: liveness
-- Check: --assume none --property no-orphan,no-orphan-at-once
-- Truth: no-orphan holds
-- Truth: no-orphan-at-once holds
-- Check: --assume loss --property no-orphan,no-orphan-at-once
-- Truth: no-orphan holds
-- Truth: no-orphan-at-once violated
-- Check: --assume client-restart --property no-orphan-at-once
-- Truth: no-orphan-at-once unknown
-- Because: where the reply is lost, the acquire fails and the key is there for a whole lease. It
-- has an expiry, so within one lease it is gone.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    return set and held() or busy()
  end,

  release = function(lock)
    while true do
      local reply, err = script("release_if_owner", { lock.key }, { lock.token })
      if not err then return reply == 1 end
    end
  end,
}
