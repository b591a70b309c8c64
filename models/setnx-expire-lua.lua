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

  about = {
    works = [[One script sends SETNX and, if that wrote the key, EXPIRE. No client can die between the
      two. The value is a constant, and the release is a plain DEL.]],
    claims = [[Two articles give it as the repair of SETNX with a separate EXPIRE: it excludes others, and
      no failure of a client leads to a deadlock. One adds the limit: a holder that works longer
      than the lease deletes the key of the next owner.]],
    repair = [[Store a token that no other attempt has, and delete the key only if it still has that token,
      in one script ("token-setnx-expire-lua"). Work can still outlast the lease. If that must do
      no harm, the guarded resource has to check a fencing token.]],
  },
}
