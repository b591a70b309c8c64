-- Class: a pause between the look and the send
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume client-pause
-- Truth: owner-only-release violated
-- Because: the client reads its own token and is paused before the DEL leaves. Meanwhile the
-- key expires and another client acquires, whose key the DEL removes. Without a pause no time
-- passes between GET and DEL, and the lease lasts until then.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    if redis("GET", lock.key) ~= lock.token then return false end
    return redis("DEL", lock.key) == 1
  end,
}
