-- EXISTS, then SET in a second command, and a plain DEL: the first idea of many.
--
-- Faults that belong to it: between the two commands another client can do the same, the
-- key never expires, and DEL removes whatever is there.
return {
  name = "exists-set",
  description = "EXISTS, then SET in a second command, no expiry; plain DEL",

  acquire = function(lock)
    local there, err = redis("EXISTS", lock.key)
    if err then return failed(err.message) end
    if there == 1 then return busy() end
    local _, unset = redis("SET", lock.key, "1")
    if unset then return failed(unset.message) end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,
}
