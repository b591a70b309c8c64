-- Class: freed by value
-- Check: --assume none
-- Truth: owner-only-release holds
-- Check: --assume overrun
-- Truth: owner-only-release violated
-- Because: the release writes over whatever is there a text that lives for a second. After
-- work that outlasted the lease, that is the next owner's key.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return redis("SET", lock.key, "", "XX", "PX", 1000) == "OK"
  end,
}
