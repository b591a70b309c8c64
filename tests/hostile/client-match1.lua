return {
  name = "client-match1",
  acquire = function(lock)
    local a = string.match(string.rep("x", 100000), "(.-)(.-)(.-)(.-)(.-)y")
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
