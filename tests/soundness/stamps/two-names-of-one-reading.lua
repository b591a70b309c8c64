-- Class: stamps
-- Check: --clients 1 --assume none
-- Truth: deadlock-freedom holds
-- Because: one reading is stored twice, by two commands, and is one text wherever it is read
-- back.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local key = lock.key .. ":seen"
    local mine = now()
    redis("HSET", key, "one", mine, "other", mine)
    redis("HSET", key, "one", mine)
    if redis("HGET", key, "one") ~= redis("HGET", key, "other") then
      redis("SET", lock.key, "taken")
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
