-- A read-write lock in one hash, so that all of it lies on one server of a cluster: the
-- field `read` has the time stamp of the reader that came last, the field `write` that of
-- the writer. Who finds a stamp that is older than its time-out takes the lock over;
-- release compares the stamp.
--
-- Faults that belong to it: a reader writes over the time stamp of another one, which then
-- cannot give its share back, while the last one to come takes the field away from all.
-- The time stamps are those of the clients' clocks. And two clients that come in the same
-- millisecond have the same stamp.
return {
  name = "rw-hash",
  description = "read-write: a hash of two time stamps; release compares the stamp",
  -- How much longer the key lives than the lock in it, in ms.
  params = { spare = 1000 },
  scripts = { "rw_hash_read", "rw_hash_write", "rw_hash_release" },

  acquire_read = function(lock)
    self.stamp = now()
    local args = { lock.ttl + lock.params.spare, lock.ttl, self.stamp }
    local got, err = script("rw_hash_read", { lock.key }, args)
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  acquire_write = function(lock)
    self.stamp = now()
    local args = { lock.ttl + lock.params.spare, lock.ttl, lock.ttl, self.stamp }
    local got, err = script("rw_hash_write", { lock.key }, args)
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    local deleted, err = script("rw_hash_release", { lock.key }, { lock.mode, self.stamp })
    if err then return failed(err.message) end
    return deleted == 1
  end,

  about = {
    works = [[One hash has a time stamp of the last reader and one of the writer. A script takes the lock
      where the other's stamp is missing or older than its time-out, and writes the caller's own.
      Release deletes the field if it still has the caller's stamp.]],
    claims = [[That only its owner can release the lock, that a reader may come where readers are, that it
      is freed when its time is over, and that it works on a cluster because all of it is one key.]],
    repair = [[Give each reader a field of its own, named after a token, with an end that the server's
      clock decides. A time stamp is no identity: two clients of one millisecond share it.]],
  },
}
