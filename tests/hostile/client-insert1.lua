return {
  name = "client-insert1",
  acquire = function(lock)
    local t = {} table.insert(t, -2147483648, 1)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
