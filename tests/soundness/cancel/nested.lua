-- Class: a nested acquire that is interrupted
-- Check: --assume cancel
-- Truth: reentrancy holds
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Because: the holder's second acquire waits in a sleep, with no command under way, and is
-- interrupted. It is told so, which is no refusal by the lock. The first hold goes on. An outermost acquire that is
-- interrupted leaves a SET under way, so this client takes part no more.
return {
  reentrant = true,
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if self.holds and self.holds > 0 then
      sleep(0)
      self.holds = self.holds + 1
      return held()
    end
    if self.tries then return failed("an earlier attempt may still arrive") end
    self.tries = true
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    self.tries = false
    if err then return failed(err.message) end
    if not set then return busy() end
    self.holds = 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds > 0 then return true end
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
