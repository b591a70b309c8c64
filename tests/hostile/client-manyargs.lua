return {
  name = "client-manyargs",
  acquire = function(lock)
    local t={} for i=1,7900 do t[i]=string.rep("x",1000) end redis("RPUSH", lock.key..":l", unpack(t))
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
