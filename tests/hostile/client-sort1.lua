return {
  name = "client-sort1",
  acquire = function(lock)
    local t = {} for i=1,50000 do t[i] = (i*7919)%50000 end table.sort(t, function(a,b) return a<b end)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
