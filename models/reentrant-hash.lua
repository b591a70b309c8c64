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

  about = {
    works = [[The lock is a hash with one field, its owner, whose value counts the holds. A script raises
      the count if the hash is not there or belongs to the caller, and sets the expiry. A second
      script lowers it, deletes the hash at 0, and tells a caller who is not the owner so.]],
    claims = [[Notes on locks in Redis present it as the counterpart of a reentrant lock inside one
      process: the same owner may acquire again, nobody else can release it, and only the last
      release frees it.]],
    repair = [[A count cannot tell a repeated command from a new one: give each hold an identifier of its
      own, so that a script that is executed late changes nothing twice. Give each thread an
      owner's name of its own, and a new one after each start. The lease goes on while a nested
      acquire waits, so count it from the last acquire that succeeded, and stop when it is over. A
      fencing token protects the resource from a client that was paused.]],
  },
}
