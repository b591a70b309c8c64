-- Class: stories
-- Check: --assume client-skew --ttl-ticks 4 --tick-ms 500
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-validity not-holds
-- Because: who waited for long overwrites the lock, and who has it may have set its clock back
-- and believe in it still. The validity ends within the last tick, which a check says, and does
-- not take for a contradiction of its own.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    local got, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not got then
      sleep(lock.ttl * 4)
      got = redis("SET", lock.key, lock.token, "PX", lock.ttl)
    end
    if got then return held(lock.ttl - (now() - started) - 500) end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
