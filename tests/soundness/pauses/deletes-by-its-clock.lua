-- Class: a pause between the look and the send
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: the client looks at its clock, sees that its lease is not over, and is paused
-- before the DEL leaves. Meanwhile the key expires and another client acquires, whose key the
-- DEL removes. Without a pause no time passes between the look and the DEL.
return {
  acquire = function(lock)
    local started = now()
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.ends = started + lock.ttl
    return held { validity = self.ends - now() }
  end,

  release = function(lock)
    if now() >= self.ends then return false end
    return redis("DEL", lock.key) == 1
  end,
}
