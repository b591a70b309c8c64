return {
  name = "etcd-queue",
  description = "a queue of keys with leases, as etcd's lock has it; a waiter does not look at its own",
  ttl_step = 1000,
  scripts = {
    "expire_if_owner",
    "release_if_owner",
    join = [[
      redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
      redis.call("zadd", KEYS[2], ARGV[3], KEYS[1])
      return 1
    ]],
    ahead = [[
      for _, key in ipairs(redis.call("zrangebyscore", KEYS[1], "-inf", "(" .. ARGV[1])) do
        if redis.call("exists", key) == 1 then return 1 end
        redis.call("zrem", KEYS[1], key)
      end
      return 0
    ]],
  },
  params = { renewals_per_ttl = 3, check = 0 },

  acquire = function(lock)
    local token = lock.token
    local queue = lock.key .. ":queue"
    local place, err = redis("INCR", lock.key .. ":places")
    if err then return failed(err.message) end
    local own = lock.key .. ":" .. place
    self.own = own
    local joined, unjoined = script("join", { own, queue }, { token, lock.ttl, place })
    if unjoined then return failed(unjoined.message) end
    self.renewal = every(lock.ttl / lock.params.renewals_per_ttl, function()
      script("expire_if_owner", { own }, { token, lock.ttl / 1000 })
    end)
    while true do
      local ahead = script("ahead", { queue }, { place })
      if ahead == 0 then
        if lock.params.check == 1 and redis("GET", own) ~= token then
          stop(self.renewal)
          return failed("the lease ran out while it waited")
        end
        return held()
      end
      sleep(20)
    end
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { self.own }, { lock.token }) == 1
  end,
}
