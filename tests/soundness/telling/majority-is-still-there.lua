-- Class: what a lock tells its caller of a loss
-- Check: --assume node-restart-none --nodes 3 --clients 1
-- Truth: no-false-alarm violated
-- Because: one of three servers has lost the key, and two have it. That is a quorum, so the lock is
-- held.
return {
  renews = true,
  nodes = { default = 3, min = 3, max = 3 },
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local token, votes = lock.token, 0
    for _, node in ipairs(lock.nodes) do
      if on(node).redis("SET", lock.key, token, "NX", "PX", lock.ttl) then votes = votes + 1 end
    end
    if votes < 2 then return busy() end
    self.renewal = every(lock.ttl / 3, function()
      for _, node in ipairs(lock.nodes) do
        if on(node).script("extend", { lock.key }, { token, lock.ttl }) == 0 then
          lost()
          return false
        end
      end
    end)
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    local released = 0
    for _, node in ipairs(lock.nodes) do
      if on(node).script("release_if_owner", { lock.key }, { lock.token }) == 1 then
        released = released + 1
      end
    end
    return released > 1
  end,
}
