-- Redisson's RFairLock.tryLock(wait, lease), after the published RedissonFairLock.java: a list
-- has those who wait in their order, a sorted set until when each of them may stay in it, and
-- each waits for messages on a channel of its own.
--
-- A waiter may stay until a wait after the one before it, or after the holder's lease; whoever
-- acquires or gives up takes a wait off again. Checks use a wait of one tick, 1 s. With a lease
-- of one tick waiters acquire in turn. With a longer lease a waiter gives up before its turn.
-- With a wait of two or three ticks and a lease of three, servers were found to hold ever more
-- contents, since ends go on from one waiter to the next, and no check came to its end.
--
-- Faults that belong to it: a waiter that is first and finds the lock free of a holder is the
-- only one who may take it; all others ask again and again without a pause until it has done so.
-- Nobody tells the next one when a waiter gives up.
--
-- Left out: the latch with which a client asks again for a reply that was lost; the watchdog of
-- callers who ask for no lease; tryLock() without a wait, which never joins the queue.
local function channel_of(lock)
  return "redisson_lock__channel:{" .. lock.key .. "}"
end

local function queue_of(lock)
  return "redisson_lock_queue:{" .. lock.key .. "}"
end

local function timeouts_of(lock)
  return "redisson_lock_timeout:{" .. lock.key .. "}"
end

local function try(lock)
  local keys = { lock.key, queue_of(lock), timeouts_of(lock) }
  return script("redisson_fair_lock", keys, { lock.ttl, lock.owner, lock.params.wait, now() })
end

local function leave(lock)
  local keys = { queue_of(lock), timeouts_of(lock) }
  script("redisson_fair_leave", keys, { lock.owner, lock.params.wait })
end

return {
  name = "redisson-fair",
  description = "redisson with a queue: waiters acquire in turn, each is told on its own channel",
  reentrant = true,
  fair = true,
  scripts = { "redisson_fair_lock", "redisson_fair_unlock", "redisson_fair_leave" },
  keys = {
    lock = "{key}",
    queue = { "redisson_lock_queue:{{key}}", "redisson_lock_timeout:{{key}}" },
  },
  params = { wait = { default = 3000, check = 1000 } }, -- ms that an acquire waits at most

  acquire = function(lock)
    local began = monotonic()
    local channel = channel_of(lock) .. ":" .. lock.owner
    local left, err = try(lock)
    if err then return failed(err.message) end
    if left == nil then return held() end
    if monotonic() - began >= lock.params.wait then
      leave(lock)
      return busy()
    end
    local _, refused = subscribe(channel)
    if refused then
      leave(lock)
      return failed(refused.message)
    end
    while monotonic() - began < lock.params.wait do
      left, err = try(lock)
      local rest = lock.params.wait - (monotonic() - began)
      if err or left == nil or rest <= 0 then break end
      if left >= 0 and left < rest then rest = left end
      wait(rest)
    end
    if err or left ~= nil then leave(lock) end
    unsubscribe(channel)
    if err then return failed(err.message) end
    if left == nil then return held() end
    return busy()
  end,

  release = function(lock)
    local keys = { lock.key, queue_of(lock), timeouts_of(lock), channel_of(lock) }
    local left, err = script("redisson_fair_unlock", keys, { 0, lock.ttl, lock.owner, now() })
    if err then return failed(err.message) end
    -- nil: not the owner. 1: the key is gone. 0: outer holds are left.
    return left ~= nil
  end,

  about = {
    works = [[Who finds the lock taken joins a list, with a time until when it may stay there, and listens
      to a channel of its own. Only the first of the list may take the lock; it is told by the
      release. Each script first drops those at the head whose time is over. The hash of the lock
      counts its owner's holds, as in redisson.]],
    claims = [[The library says that this lock is fair: threads acquire in the order in which they asked,
      and one that died holds the others up for its time and no longer.]],
    repair = [[Let the wait be longer than a lease, or a waiter gives up before its turn can come. Tell the
      next one when a waiter leaves the queue, and do not poll while another one is first. Let a
      release that finds no lock say so. A fencing token protects the resource from a client that
      was paused.]],
  },
}
