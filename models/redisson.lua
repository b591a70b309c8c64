-- Redisson's RLock.tryLock(wait, lease): a hash that counts its owner's holds. Who does not
-- get it listens to the lock's channel, tries once more, and waits for the message of a
-- release or for the end of the other's lease.
return {
  name = "redisson",
  description = "a hash counts its owner's holds; waiters listen for the message of a release",
  reentrant = true,
  scripts = { "redisson_lock", "redisson_unlock" },
  params = { wait = { default = 3000, check = 3000 } }, -- ms that an acquire waits at most

  acquire = function(lock)
    local began = monotonic()
    local channel = "redisson_lock__channel:{" .. lock.key .. "}"
    local left, err = script("redisson_lock", { lock.key }, { lock.ttl, lock.owner })
    if err then return failed(err.message) end
    if left == nil then return held() end
    local _, refused = subscribe(channel)
    if refused then return failed(refused.message) end
    while true do
      left, err = script("redisson_lock", { lock.key }, { lock.ttl, lock.owner })
      local rest = lock.params.wait - (monotonic() - began)
      if err or left == nil or rest <= 0 then break end
      if left < rest then rest = left end
      wait(rest)
      if monotonic() - began >= lock.params.wait then break end
    end
    unsubscribe(channel)
    if err then return failed(err.message) end
    if left == nil then return held() end
    return busy()
  end,

  release = function(lock)
    local channel = "redisson_lock__channel:{" .. lock.key .. "}"
    local left, err =
      script("redisson_unlock", { lock.key, channel }, { 0, lock.ttl, lock.owner })
    if err then return failed(err.message) end
    -- nil: not the owner. 1: the key is gone. 0: outer holds are left.
    return left ~= nil
  end,

  about = {
    works = [[The lock is a hash with one field, its owner, whose value counts the holds. Who finds it
      taken learns how long the other's lease goes on, listens to the lock's channel, tries once
      more, and waits for a message or for the end of that lease. The script that releases the
      last hold deletes the hash and publishes the message.]],
    claims = [[Two of the documents end with Redisson as the mature answer: scripts make each step
      atomic, the hash makes the lock reentrant and keeps others from releasing it, and a waiter
      is woken by a message and need not poll.]],
    repair = [[A message is sent once, and to those who listen: never wait for longer than the lease of
      the holder, and look again after each wait. Count the lease from before the script is
      sent, and end the work before it does. Give each hold an identifier of its own, so that a
      script that is executed late is not counted. A fencing token protects the resource from a
      client that was paused.]],
  },
}
