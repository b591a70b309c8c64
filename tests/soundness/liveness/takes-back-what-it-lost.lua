-- Class: liveness
-- Check: --assume loss,client-crash --property no-orphan-at-once
-- Truth: no-orphan-at-once holds
-- Because: a client that does not know whether it wrote asks the server to delete it, until it
-- knows. A dead client is not asked about.
return {
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if not err then return set and held() or busy() end
    while true do
      local reply, again = script("release_if_owner", { lock.key }, { lock.token })
      if not again then return failed(err.message) end
    end
  end,

  release = function(lock)
    while true do
      local reply, err = script("release_if_owner", { lock.key }, { lock.token })
      if not err then return reply == 1 end
    end
  end,
}
