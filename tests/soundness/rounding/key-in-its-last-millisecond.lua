-- Class: durations that are not whole ticks
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: a key that lives for a second is still there at its last millisecond, and a sleep
-- of a second may end just then. The client takes that for a sign that it may write over the
-- lock.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local mark = lock.key .. ":" .. lock.owner
    redis("SET", mark, "1", "PX", 1000)
    sleep(1000)
    if redis("EXISTS", mark) == 1 then
      redis("SET", lock.key, lock.token, "PX", lock.ttl)
      return held()
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
