return {
  name = "client-rpush",
  acquire = function(lock)
    local a = {} for i=1,7000 do a[i]="v" end redis("RPUSH", lock.key..":l", unpack(a))
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
