-- Class: liveness
-- Check: --assume none --property fault-tolerance,deadlock-freedom
-- Truth: fault-tolerance holds
-- Truth: deadlock-freedom holds
-- Check: --assume node-down --property fault-tolerance,deadlock-freedom
-- Truth: fault-tolerance violated
-- Truth: deadlock-freedom holds
-- Check: --assume partition --property fault-tolerance,deadlock-freedom --clients 1
-- Truth: fault-tolerance violated
-- Truth: deadlock-freedom holds
-- Because: it wants the votes of all three servers. While one of them is gone or cut off nobody
-- acquires, although a majority is there; some day the server comes back.
local function unlock_all(lock)
  for _, node in ipairs(lock.nodes) do
    on(node, { timeout = 1000 }).script("release_if_owner", { lock.key }, { lock.token })
  end
end

return {
  nodes = 3,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local votes = 0
    for _, node in ipairs(lock.nodes) do
      local server = on(node, { timeout = 1000 })
      if server.redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then votes = votes + 1 end
    end
    if votes == #lock.nodes then return held() end
    unlock_all(lock)
    return busy()
  end,

  release = function(lock)
    unlock_all(lock)
  end,
}
