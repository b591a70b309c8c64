return {
  name = "client-randmany",
  acquire = function(lock)
    local s = "" for i=1,20 do s = s .. random(8) end redis("SET", lock.key..":r", s)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
