-- SET NX PX with a token; the server itself compares and deletes: DELIFEQ of Valkey 9,
-- https://valkey.io/commands/delifeq/.
return {
  name = "delifeq",
  description = "SET NX PX with a token; DELIFEQ, which only Valkey has",
  server = "valkey",

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local deleted, err = redis("DELIFEQ", lock.key, lock.token)
    if err then return failed(err.message) end
    return deleted == 1
  end,
}
