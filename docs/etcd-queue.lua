-- A queue of keys with leases, as the lock of etcd 3.4.3 has it, on Redis.
--
-- Each client puts a key of its own into a queue, renews its lease in the background
-- from then on, and waits until nobody is ahead. The fault that belongs to it is the
-- published one (etcd-io/etcd#11456): when nobody is ahead, it does not look whether
-- its own key is still there. With `check = 1` it does, as etcd does since.
--
-- It is no built-in lock: the queue's places count up for ever, which no model of
-- finitely many states can follow. It is here for `lockproof torture`, to measure
-- what is left of the difference to a published figure (docs/scenarios.md).
return {
  name = "etcd-queue",
  description = "a queue of keys with leases; who waits does not look at its own",
  ttl_step = 1000, -- the renewal's EXPIRE takes whole seconds
  params = { renewals_per_ttl = 3, check = 0 },
  scripts = {
    "expire_if_owner",
    "release_if_owner",
    join = [[
      redis.call("set", KEYS[1], ARGV[1], "px", ARGV[2])
      redis.call("zadd", KEYS[2], ARGV[3], KEYS[1])
      return 1
    ]],
    -- Keys whose leases ran out are out of the queue.
    ahead = [[
      for _, key in ipairs(redis.call("zrangebyscore", KEYS[1], "-inf", "(" .. ARGV[1])) do
        if redis.call("exists", key) == 1 then return 1 end
        redis.call("zrem", KEYS[1], key)
      end
      return 0
    ]],
  },

  acquire = function(lock)
    local token, queue = lock.token, lock.key .. ":queue"
    local place, err = redis("INCR", lock.key .. ":places")
    if err then return failed(err.message) end
    local own = lock.key .. ":" .. place
    self.own = own
    local _, unjoined = script("join", { own, queue }, { token, lock.ttl, place })
    if unjoined then return failed(unjoined.message) end
    self.renewal = every(lock.ttl / lock.params.renewals_per_ttl, function()
      script("expire_if_owner", { own }, { token, lock.ttl / 1000 })
    end)
    while true do
      -- No answer means that the servers stand still: it goes on waiting.
      if script("ahead", { queue }, { place }) == 0 then break end
      sleep(20)
    end
    if lock.params.check == 1 and redis("GET", own) ~= token then
      stop(self.renewal)
      return failed("its lease ran out while it waited")
    end
    return held()
  end,

  release = function(lock)
    stop(self.renewal)
    return script("release_if_owner", { self.own }, { lock.token }) == 1
  end,
}
