return {
  name = "client-gsub2",
  acquire = function(lock)
    local s = string.rep("a", 1000) for i=1,20 do s = string.gsub(s, "a", "aa") end
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
