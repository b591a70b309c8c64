return {
  name = "client-concat3",
  acquire = function(lock)
    local t = {} for i=1,100 do t[i]=string.rep("y",1000) end local a = table.concat(t, string.rep("x", 100000))
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
