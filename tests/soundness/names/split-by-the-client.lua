-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: owner-only-release holds
-- Truth: deadlock-freedom holds
-- Because: the release reads the value, splits it at its sign, and asks the server to delete
-- only what it read. Nobody can have taken the key in between without another token.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mine = lock.owner .. "|" .. lock.token
    if redis("SET", lock.key, mine, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local value = redis("GET", lock.key)
    if not value then return false end
    local at = string.find(value, "|", 1, true)
    if string.sub(value, 1, at - 1) ~= lock.owner then return false end
    if string.sub(value, at + 1) ~= lock.token then return false end
    return script("release_if_owner", { lock.key }, { lock.owner .. "|" .. lock.token }) == 1
  end,
}
