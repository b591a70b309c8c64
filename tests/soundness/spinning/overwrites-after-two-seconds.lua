-- Class: time that stands still
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: while the waiter polls without a pause, two seconds pass, and it writes over the
-- key of an owner who may work for three.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local started = now()
    while not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) do
      if now() - started >= 2000 then
        redis("SET", lock.key, lock.token, "PX", lock.ttl)
        return held()
      end
    end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
