-- Class: messages
-- Check: --assume none
-- Truth: refused line 9
-- Because: a channel may have an owner's name, which stays; a token is another one each time.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    -- The next line names a token.
    subscribe("freed:" .. lock.token)
    wait(lock.ttl)
    return busy()
  end,

  release = function(lock)
    redis("DEL", lock.key)
    return true
  end,
}
