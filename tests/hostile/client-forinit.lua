return {
  name = "client-forinit",
  acquire = function(lock)
    local s = string.rep("1", 900000) for i=1,1e6 do for j=s,1 do end end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
