-- The same key and token on N independent servers, one after the other; a majority decides:
-- "Distributed Locks with Redis", https://redis.io/topics/distlock.

local function unlock_all(lock)
  local released = 0
  for _, node in ipairs(lock.nodes) do
    local server = on(node, { timeout = lock.params.node_timeout })
    if server.script("release_if_owner", { lock.key }, { lock.token }) == 1 then
      released = released + 1
    end
  end
  return released
end

return {
  name = "redlock",
  description = "a majority of N independent servers; validity = ttl - elapsed - drift",
  nodes = 3,
  scripts = { "release_if_owner" },
  params = {
    -- ms; the document says 5 to 50 for a lease of 10 s. A check's tick is longer.
    node_timeout = { default = 50, check = 1000 },
    drift_factor = 0, -- share of the lease that clocks may drift; the document has none
  },

  acquire = function(lock)
    local started = now()
    local votes = 0
    for _, node in ipairs(lock.nodes) do
      local server = on(node, { timeout = lock.params.node_timeout })
      if server.redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then
        votes = votes + 1
      end
    end
    local validity = lock.ttl - (now() - started) - lock.ttl * lock.params.drift_factor
    if votes > #lock.nodes / 2 and validity > 0 then
      return held { validity = validity }
    end
    unlock_all(lock)
    if votes > #lock.nodes / 2 then return failed("the lease ran out meanwhile") end
    return busy()
  end,

  release = function(lock)
    return unlock_all(lock) > #lock.nodes / 2
  end,

  about = {
    works = [[A client writes the same key and token on N independent servers, one after the other, each
      with a short time-out. It has the lock if more than half of them took it and some of the
      lease is left; the validity is the lease minus the time that this took. If it has failed,
      and when it releases, it deletes its token on all of them.]],
    claims = [[Its author designed it so that no single server matters: without replication, the lock
      survives the loss of a minority of the servers. An article passes its five steps on, for
      five servers that fail independently.]],
    repair = [[A server that lost its data must not vote before every lease that it may have granted is
      over: start it again only after more than a lease (node-down-delayed shows that), or let it
      save every write first. Take what clocks may drift off the validity (the parameter
      drift_factor). Work that may outlast the validity needs a fencing token, as with any lease.]],
  },
}
