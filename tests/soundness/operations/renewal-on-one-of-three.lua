-- Class: what a holder asks of its lock
-- Check: --assume none
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief holds
-- Because: the lock is a majority of three servers. It is renewed on one of them, which is
-- none, and reported as a success.
local function count(lock, send)
  local done = 0
  for _, node in ipairs(lock.nodes) do
    if send(on(node, { timeout = 50 })) then done = done + 1 end
  end
  return done
end

local function free(lock)
  return count(lock, function(server)
    return server.script("release_if_owner", { lock.key }, { lock.token }) == 1
  end)
end

return {
  nodes = { default = 3, min = 3, max = 3 },
  scripts = {
    "release_if_owner",
    extend = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call("pexpire", KEYS[1], ARGV[2])
    ]],
  },

  acquire = function(lock)
    local started = now()
    local votes = count(lock, function(server)
      return server.redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    end)
    local validity = lock.ttl - (now() - started)
    if votes > 1 and validity > 0 then return held(validity) end
    free(lock)
    return busy()
  end,

  renew = function(lock)
    local server = on(1, { timeout = 50 })
    return server.script("extend", { lock.key }, { lock.token, lock.ttl }) == 1
  end,

  release = function(lock) return free(lock) > 1 end,
}
