-- SETNX and DEL, as the manual page of SETNX had it first: https://redis.io/commands/setnx/.
--
-- A fault that belongs to it: who dies while it holds leaves a key that never expires.
return {
  name = "setnx-del",
  description = "SETNX, no expiry; plain DEL",

  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, "1")
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,
}
