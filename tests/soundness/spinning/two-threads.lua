-- Class: time that stands still
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: one thread polls without a pause, and the other one sets a flag after two seconds
-- of sleep. With the flag the client writes over the key of an owner who may work for three.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    self.late = nil
    local timer = spawn(function()
      sleep(2000)
      self.late = true
    end)
    while not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) do
      if self.late then
        redis("SET", lock.key, lock.token, "PX", lock.ttl)
        break
      end
    end
    stop(timer)
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
