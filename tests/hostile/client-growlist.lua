return {
  name = "client-growlist",
  acquire = function(lock)
    for i=1,1000 do redis("RPUSH", lock.key..":l", "v"..i) end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
