return {
  name = "client-lens",
  acquire = function(lock)
    local s = string.rep("a", 900000) for i=1,1e6 do local x = string.byte(s, 1, 7000) end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
