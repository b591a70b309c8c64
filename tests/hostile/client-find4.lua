return {
  name = "client-find4",
  acquire = function(lock)
    local s = string.rep("(", 300000) local a = string.find(s, s)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
