-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: owner-only-release violated
-- Check: --assume client-pause
-- Truth: mutual-exclusion-belief violated
-- Because: of two hundred numbers one makes the client take away whatever is there.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if random(200) == 177 then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
