-- Class: nested holds
-- Check: --assume loss
-- Truth: reentrancy holds
-- Because: the holder looks at the key when it acquires again. That fails only if the question
-- or the answer is lost, for which the lock is not to blame. The key never ends by itself.
return {
  reentrant = true,

  acquire = function(lock)
    if (self.holds or 0) == 0 then
      if not redis("SET", lock.key, lock.owner, "NX") then return busy() end
    elseif redis("GET", lock.key) ~= lock.owner then
      return failed("it is not known whether the key is there")
    end
    self.holds = (self.holds or 0) + 1
    return held()
  end,

  release = function(lock)
    self.holds = self.holds - 1
    if self.holds == 0 then redis("DEL", lock.key) end
  end,
}
