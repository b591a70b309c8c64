return {
  name = "client-format3",
  acquire = function(lock)
    local a = string.format(string.rep("%99d", 20000), 1)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
