-- Class: times beyond the horizon
-- Check: --ttl-ticks 1 --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: for forty leases the waiter's polls can each meet the other client's hold, a new
-- one each time; then it writes over whatever is there, and two clients hold.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local deadline = now() + 40 * lock.ttl
    while now() < deadline do
      if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
      sleep(lock.ttl)
    end
    redis("SET", lock.key, lock.token, "PX", lock.ttl)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
