-- Class: messages
-- Check: --assume none
-- Truth: refused line 10
-- Because: the model has one channel.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    subscribe("freed")
    unsubscribe("freed")
    subscribe("gone")
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
