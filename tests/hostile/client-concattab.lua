return {
  name = "client-concattab",
  acquire = function(lock)
    local t = {} for i=1,5000 do t[i]="" end for i=1,1e6 do local x = table.concat(t) end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
