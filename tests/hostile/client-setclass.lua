return {
  name = "client-setclass",
  acquire = function(lock)
    local a = string.find(string.rep("a", 100000), "["..string.rep("b", 100000).."]")
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
