-- Class: plain races
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Because: A holds, and the counter is 1. B makes it 2, A deletes it, and B, who takes its one
-- back, leaves -1. Now A makes it 0 and B makes it 1 and holds; A takes its one back, adds one
-- again, reads 1, and holds too.
return {
  acquire = function(lock)
    if redis("INCR", lock.key) == 1 then
      redis("PEXPIRE", lock.key, lock.ttl)
      return held()
    end
    redis("DECR", lock.key)
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
