-- Class: a server forgets its scripts
-- Check: --assume failover
-- Truth: mutual-exclusion-belief violated
-- Check: --assume node-restart-everysec
-- Truth: mutual-exclusion-belief violated
-- Because: the last write is the SET: that a script becomes known, or is forgotten, is written to no
-- disk and sent to no replica. So a replica that lacks one write lacks the lock.
return {
  name = "load-after-the-write",
  scripts = { "release_if_owner" },
  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    local _, lost = redis("SCRIPT", "FLUSH")
    if lost then return failed(lost.message) end
    local sha, unknown = script_load("release_if_owner")
    if unknown then return failed(unknown.message) end
    return held()
  end,
  release = function(lock)
    local keys, args = { lock.key }, { lock.token }
    local gone, err = evalsha("release_if_owner", keys, args)
    if err and err.code == "NOSCRIPT" then gone, err = script("release_if_owner", keys, args) end
    return gone == 1
  end,
}
