-- SET NX PX with a constant value and a plain DEL: atomic since Redis 2.6.12
-- (https://redis.io/commands/set/), and still anybody's key to delete.
return {
  name = "set-nx-px",
  description = "SET NX PX with a constant value; plain DEL",

  acquire = function(lock)
    local set, err = redis("SET", lock.key, "1", "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,
}
