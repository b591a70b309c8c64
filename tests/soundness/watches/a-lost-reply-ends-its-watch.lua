-- Class: watches
-- Check: --assume loss
-- Truth: assertion holds
-- Check: --assume partition
-- Truth: assertion holds
-- Check: --assume partition-one-way
-- Truth: assertion holds
-- Because: who gives GET up has left the connection that watched, so the transaction after it is
-- never sent: its failure is definite, and comes at once whatever the network is like.
return {
  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local _, unwatched = redis("WATCH", lock.key)
    if unwatched then return failed(unwatched.message) end
    local value, unread = redis("GET", lock.key)
    local called = now()
    local replies, err = multi { { "DEL", lock.key .. ":none" } }
    if unread and unread.timeout then
      assert_(err and err.definite and now() - called < lock.ttl / 3, "it was sent")
    end
    if value ~= lock.token then return false end
    return redis("DEL", lock.key) == 1
  end,
}
