-- Class: freed by value
-- Check: --assume delay
-- Truth: owner-only-release violated
-- Because: a release is given up after a second. Its key lives for a second more, and a release
-- that comes later than that writes over the value of the next holder.
return {
  acquire = function(lock)
    local free = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl + 2000)
    if not free then return busy() end
    return held()
  end,

  release = function(lock)
    on(1, { timeout = 1000 }).redis("SET", lock.key, "free", "KEEPTTL")
  end,
}
