-- The token lock whose waiters sleep at the server: a release pushes one element onto a list of
-- signals, and BLPOP hands it to the one who has waited longest. An element is a reason to look
-- again and no grant: the SET decides. It lives no longer than a lease, and the release throws
-- away what nobody took, so there is never more than one. It names the release it is from.
return {
  name = "token-signalled",
  description = "SET NX PX with a token; waiters sleep in BLPOP until a release signals",
  keys = { lock = "{key}", queue = { "{{key}}:signal" } },
  scripts = {
    signalled_release = [[
      if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call("del", KEYS[1], KEYS[2])
      redis.call("rpush", KEYS[2], ARGV[1])
      redis.call("pexpire", KEYS[2], ARGV[2])
      return 1
    ]],
  },
  params = {
    -- How long a waiter sleeps at most before it looks again. A lease that ends signals nobody.
    wait_ms = { default = 500, check = 1000 },
    rounds = { default = 20, check = 1 },
  },

  acquire = function(lock)
    local signals, wait_ms = "{" .. lock.key .. "}:signal", lock.params.wait_ms
    for round = 0, lock.params.rounds do
      local started = now()
      local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
      if err then return failed(err.message) end
      -- Counted from before the request: the server's lease started no earlier.
      if set then return held { validity = lock.ttl - (now() - started) } end
      if round < lock.params.rounds then
        -- The server answers in time, and this client waits for longer than that.
        local server = on(lock.nodes[1], { timeout = 3 * wait_ms })
        local _, gone = server.redis("BLPOP", signals, wait_ms / 1000)
        if gone then return failed(gone.message) end
      end
    end
    return busy()
  end,

  release = function(lock)
    local keys = { lock.key, "{" .. lock.key .. "}:signal" }
    return script("signalled_release", keys, { lock.token, lock.ttl }) == 1
  end,

  about = {
    works = [[SET with NX and PX writes a token with its expiry. Who finds the lock taken sends BLPOP on a
      list of signals and sleeps at the server until an element comes or the time is over. A script
      compares the token, deletes the lock and pushes one element, which ends with the lease.]],
    claims = [[A waiter is woken as soon as the lock is given back, and nobody polls.]],
    repair = [[An element that a server hands to a client which is gone wakes nobody else, and a lease that
      ends by itself signals nobody: wait for a bounded time, and look again. Let the guarded
      resource check a fencing token.]],
  },
}
