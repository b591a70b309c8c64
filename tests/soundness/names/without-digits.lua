-- Class: tokens and owners are not plain texts
-- Check: --assume overrun
-- Truth: owner-only-release not-holds
-- Because: without their digits two tokens may be the same text: a late release then deletes
-- the next owner's key.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mine = "t" .. string.gsub(lock.token, "%d", "")
    if redis("SET", lock.key, mine, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local mine = "t" .. string.gsub(lock.token, "%d", "")
    return script("release_if_owner", { lock.key }, { mine }) == 1
  end,
}
