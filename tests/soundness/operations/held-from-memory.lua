-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome holds
-- Check: --assume overrun
-- Truth: honest-outcome violated
-- Check: --assume node-flush
-- Truth: honest-outcome violated
-- Because: the client says what it remembers. While nothing goes wrong that is so; when the
-- lease is over, or the server has lost its keys, it is not.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    self.mine = true
    return held()
  end,

  is_held = function(lock) return self.mine end,

  release = function(lock)
    self.mine = nil
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
