-- Class: which token is which
-- Check: --assume none --clients 1
-- Truth: lease holds
-- Check: --assume none --clients 1 --param again=1
-- Truth: lease violated
-- Because: threads of two earlier holds write down their token, and one that finds its own
-- there leaves a mark. Each writes it once, so none does; with `again` each does it twice.
return {
  params = { again = 0 },
  scripts = {
    "release_if_owner",
    note = [[
      if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end
      redis.call("set", KEYS[1], ARGV[1], "xx")
      return 0
    ]],
  },

  acquire = function(lock)
    redis("SET", "noted", "nothing")
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local token, late = lock.token, self.late or 0
    script("release_if_owner", { lock.key }, { token })
    if late < 2 then
      self.late = late + 1
      spawn(function()
        for time = 0, lock.params.again do
          sleep(lock.ttl / 3)
          if script("note", { "noted" }, { token }) == 1 then redis("SET", "mark", lock.owner) end
        end
        self.late = self.late - 1
      end)
    end
  end,
}
