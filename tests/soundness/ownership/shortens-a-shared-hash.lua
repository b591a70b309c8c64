-- Class: ownership
-- Check: --assume none
-- Truth: owner-only-release violated
-- Because: everybody has a field of one hash, and who comes lets it end in a second, the
-- holder's field with it.
return {
  acquire = function(lock)
    redis("HSET", lock.key, lock.owner, 1)
    redis("PEXPIRE", lock.key, 1000)
    if redis("HLEN", lock.key) ~= 1 then
      redis("HDEL", lock.key, lock.owner)
      return busy()
    end
    redis("PEXPIRE", lock.key, lock.ttl)
    return held()
  end,

  release = function(lock)
    return redis("HDEL", lock.key, lock.owner) == 1
  end,
}
