-- SETNX and EXPIRE in one script, so that no client can die between them; a constant value
-- and a plain DEL.
--
-- A fault that belongs to it: DEL removes whatever is there, also the key of the next owner.
return {
  name = "setnx-expire-lua",
  description = "SETNX and EXPIRE in one script, constant value; plain DEL",
  ttl_step = 1000, -- EXPIRE takes whole seconds
  scripts = { "setnx_expire" },

  acquire = function(lock)
    local set, err = script("setnx_expire", { lock.key }, { "1", lock.ttl / 1000 })
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,
}
