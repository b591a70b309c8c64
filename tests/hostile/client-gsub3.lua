return {
  name = "client-gsub3",
  acquire = function(lock)
    local s = string.gsub(string.rep("a", 100000), ".", function(c) return string.rep(c, 100) end)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
