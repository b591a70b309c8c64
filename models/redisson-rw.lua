-- Redisson's RReadWriteLock: one hash has the mode and a count of holds for each reader and
-- for the writer. Each hold of a reader has a key of its own beside it that ends with the
-- hold's lease, so that the last hold to end decides when the hash does.
--
-- Faults that belong to it: the writer's nested acquire adds a whole lease to what is left. The
-- end of a reader's nested hold takes its key away, and leaves that of the outer one, whose
-- lease is older. And a release that finds no lock at all says that it worked.
--
-- Left out: the latch with which a client asks again for a reply that was lost; the watchdog
-- of callers who ask for no lease; a third hold of one owner. No caller here takes the read
-- lock while it writes, though the scripts would let it. The library writes the mode once;
-- here each reader writes it again when it comes and goes, so that it belongs to those who
-- are in.

local function field(lock)
  if lock.mode == "read" then return lock.owner end
  return lock.owner .. ":write"
end

local function take(lock)
  if lock.mode == "read" then
    local holds = "{" .. lock.key .. "}:" .. lock.owner .. ":rwlock_timeout"
    return script(
      "redisson_rw_read",
      { lock.key, holds },
      { lock.ttl, lock.owner, lock.owner .. ":write" }
    )
  end
  return script("redisson_rw_write", { lock.key }, { lock.ttl, field(lock) })
end

local function acquire(lock)
  local began = monotonic()
  local left, err = take(lock)
  if err then return failed(err.message) end
  if left == nil then return held() end
  if lock.params.wait == 0 then return busy() end
  local channel = "redisson_rwlock:{" .. lock.key .. "}"
  local _, refused = subscribe(channel)
  if refused then return failed(refused.message) end
  while true do
    left, err = take(lock)
    local rest = lock.params.wait - (monotonic() - began)
    if err or left == nil or rest <= 0 then break end
    if left < rest then rest = left end
    wait(rest)
    if monotonic() - began >= lock.params.wait then break end
  end
  unsubscribe(channel)
  if err then return failed(err.message) end
  if left ~= nil then return busy() end
  return held()
end

return {
  name = "redisson-rw",
  description = "read-write: a hash of the mode and each owner's holds, with a key for each hold of a reader",
  reentrant = true,
  scripts = {
    "redisson_rw_read",
    "redisson_rw_write",
    "redisson_rw_read_unlock",
    "redisson_rw_write_unlock",
  },
  -- How long a caller waits for the lock, in ms; 0: not at all, as tryLock().
  params = { wait = { default = 3000, check = 0 } },

  acquire_read = acquire,
  acquire_write = acquire,

  release = function(lock)
    local channel = "redisson_rwlock:{" .. lock.key .. "}"
    local left, err
    if lock.mode == "read" then
      local tag = "{" .. lock.key .. "}"
      local holds = tag .. ":" .. lock.owner .. ":rwlock_timeout"
      left, err = script(
        "redisson_rw_read_unlock",
        { lock.key, channel, holds, tag },
        { 0, field(lock) }
      )
    else
      left, err =
        script("redisson_rw_write_unlock", { lock.key, channel }, { 1, lock.ttl, field(lock) })
    end
    if err then return failed(err.message) end
    return left ~= nil
  end,

  about = {
    works = [[A hash has the mode, read or write, and counts the holds of each owner. A reader comes in
      where readers are, and where it is the writer itself. Each hold of a reader has a key that
      lives for a lease; a reader that leaves lets the hash live as long as the longest of them.
      The last to leave deletes the hash and publishes that.]],
    claims = [[The library offers Java's ReadWriteLock for many processes: several readers, or one writer,
      both reentrant; a writer may read. No reader's end shortens another one's lease.]],
    repair = [[Let the writer's nested acquire set the lease anew and not add to it, and let a release that
      finds no lock say so. What a hash of counts cannot mend: work that outlasts the lease needs
      a fencing token.]],
  },
}
