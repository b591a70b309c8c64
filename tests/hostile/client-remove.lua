return {
  name = "client-remove",
  acquire = function(lock)
    local t = {} for i=1,20000 do t[i]=i end for i=1,1e6 do table.remove(t, 1) table.insert(t, 1, 1) end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
