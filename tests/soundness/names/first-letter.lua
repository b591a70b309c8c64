-- Class: tokens and owners are not plain texts
-- Check: --assume overrun
-- Truth: owner-only-release not-holds
-- Because: of each token only the first letter is stored, and two random tokens may begin
-- alike: a late release then deletes the next owner's key.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mine = string.sub(lock.token, 1, 1)
    if redis("SET", lock.key, mine, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local mine = string.sub(lock.token, 1, 1)
    return script("release_if_owner", { lock.key }, { mine }) == 1
  end,
}
