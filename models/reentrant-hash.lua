-- A hash with one field, the owner, that counts its holds, as Redisson's RLock has it.
-- Giving back an inner hold does not touch the expiry.
return {
  name = "reentrant-hash",
  description = "a hash counts its owner's holds: EXISTS or HEXISTS, HINCRBY, EXPIRE",
  reentrant = true,
  ttl_step = 1000, -- EXPIRE takes whole seconds
  scripts = { "hash_lock", "hash_unlock" },

  acquire = function(lock)
    local got, err = script("hash_lock", { lock.key }, { lock.owner, lock.ttl / 1000 })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    local left, err = script("hash_unlock", { lock.key }, { lock.owner })
    if err then return failed(err.message) end
    -- nil: not the owner. 1: the key is gone. 0: outer holds are left.
    return left ~= nil
  end,
}
