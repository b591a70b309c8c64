-- Class: a property after deadlock-freedom
-- Check: --assume none
-- Truth: deadlock-freedom violated
-- Truth: release-frees violated
-- Truth: honest-outcome violated
-- Truth: mutual-exclusion-belief holds
-- Check: --assume none --property deadlock-freedom
-- Truth: deadlock-freedom violated
-- Check: --assume none --property mutual-exclusion-belief
-- Truth: mutual-exclusion-belief holds
-- Because: the key never expires, and the release says that it took effect and does nothing:
-- after one hold nobody acquires again.
return {
  acquire = function(lock)
    if redis("SETNX", lock.key, lock.token) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return true
  end,
}
