-- Class: one story, one trace
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: no-orphan holds
-- Truth: lease holds
-- Truth: warns acquire never succeeded
-- Check: --assume none --property deadlock-freedom
-- Truth: deadlock-freedom violated
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: nobody ever acquires, so nothing is ever held and nothing else can go wrong.
return {
  acquire = function(lock)
    redis("GET", lock.key)
    return busy()
  end,

  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
