-- Class: stamps
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Because: a reading is compared with itself, as a time and as a text, also while the other half
-- of the comparison waited for a reply.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local one = now()
    local text = tostring(one)
    if redis("EXISTS", lock.key .. ":other") == 1 then return busy() end
    if text ~= tostring(one) or one ~= one then redis("DEL", lock.key) end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
