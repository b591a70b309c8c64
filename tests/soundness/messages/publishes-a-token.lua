-- Class: messages
-- Check: --assume none
-- Truth: refused line 7
-- Because: a message with a token in it would have to be followed like a key's value.
return {
  acquire = function(lock)
    redis("PUBLISH", "asks", lock.token)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
