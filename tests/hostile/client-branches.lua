return {
  name = "client-branches",
  acquire = function(lock)
    local n = 0 for i=1,30 do if random(2) == 1 then n = n * 2 + 1 else n = n * 2 end redis("GET", lock.key) end redis("SET", lock.key..":r", n)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
