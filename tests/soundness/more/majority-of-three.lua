-- Class: several servers
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Check: --assume node-restart-none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief violated
-- Check: --assume node-restart-always --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: two majorities of three share a server. One that forgets its key can vote again.
local function give(lock)
  local freed = 0
  for _, node in ipairs(lock.nodes) do
    if on(node).script("release_if_owner", { lock.key }, { lock.token }) == 1 then
      freed = freed + 1
    end
  end
  return freed
end

return {
  nodes = 3,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local votes = 0
    for _, node in ipairs(lock.nodes) do
      if on(node).redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then votes = votes + 1 end
    end
    if votes >= 2 then return held() end
    give(lock)
    return busy()
  end,

  release = function(lock)
    return give(lock) >= 2
  end,
}
