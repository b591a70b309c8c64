-- Class: several servers
-- Check: --assume none --nodes 2
-- Truth: mutual-exclusion-belief violated
-- Because: of two servers one is enough, so each of two clients can have one.
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
  nodes = 2,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local votes = 0
    for _, node in ipairs(lock.nodes) do
      if on(node).redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then votes = votes + 1 end
    end
    if votes >= #lock.nodes / 2 then return held() end
    give(lock)
    return busy()
  end,

  release = function(lock)
    return give(lock) >= #lock.nodes / 2
  end,
}
