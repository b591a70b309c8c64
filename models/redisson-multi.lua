-- Redisson's lock on five servers, as an article has it: the same hash on each, one server
-- after the other. All of them together may take half a lease, each of them a fifth of that.
-- More than half of them have to agree in time.
--
-- A fault that belongs to it: it states no validity, though half of the lease may be over when
-- the acquire ends.
--
-- Left out: nested holds. The owner's field is counted as the scripts do it, so a client finds
-- what an earlier attempt of its own has left.

local function unlock_all(lock)
  local channel = "redisson_lock__channel:{" .. lock.key .. "}"
  local released = 0
  for _, node in ipairs(lock.nodes) do
    local server = on(node, { timeout = lock.ttl * lock.params.wait * lock.params.node_wait })
    local left =
      server.script("redisson_unlock", { lock.key, channel }, { 0, lock.ttl, lock.owner })
    if left ~= nil then released = released + 1 end
  end
  return released
end

return {
  name = "redisson-multi",
  description = "redisson's hash on five servers in turn, in half a lease; a majority decides",
  nodes = { default = 5, min = 3, max = 5 },
  scripts = { "redisson_lock", "redisson_unlock" },
  params = {
    wait = 0.5, -- share of the lease that all servers together may take
    -- Each server's share of that. A check's tick is longer.
    node_wait = { default = 0.2, check = 1 },
    -- The article does not say what becomes of the servers that agreed where too few did; the
    -- library unlocks them: 1. With 0 their locks stay until they end.
    unlock_failed = 1,
  },

  acquire = function(lock)
    local wait = lock.ttl * lock.params.wait
    local started = monotonic()
    local votes = 0
    for _, node in ipairs(lock.nodes) do
      local server = on(node, { timeout = wait * lock.params.node_wait })
      local left, err = server.script("redisson_lock", { lock.key }, { lock.ttl, lock.owner })
      if not err and left == nil then votes = votes + 1 end
    end
    local late = monotonic() - started >= wait
    if votes > #lock.nodes / 2 and not late then return held() end
    if lock.params.unlock_failed == 1 then unlock_all(lock) end
    if late then return failed("too slow") end
    return busy()
  end,

  release = function(lock)
    return unlock_all(lock) > #lock.nodes / 2
  end,

  about = {
    works = [[A script writes the owner's field into a hash on each of five servers, one after the other.
      Each may take a tenth of the lease, all together half of it. The lock is held if more than
      half of them agreed and all answered in time. The release counts the field down on all.]],
    claims = [[The article presents it as what Redisson does, and as the answer to a failover that loses
      the lock: one client at a time, no deadlock, released by its owner alone, and usable as long
      as most servers work.]],
    repair = [[State the lease minus the time that it took as the validity, and end the work with it. Give
      each hold a token of its own, as redlock does, so that an attempt that failed is not
      counted. A server that has lost its data must stay away for more than a lease.]],
  },
}
