return {
  name = "client-sort3",
  acquire = function(lock)
    local t = {} for i=1,5000 do t[i] = string.rep("a", 1000)..i end table.sort(t)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
