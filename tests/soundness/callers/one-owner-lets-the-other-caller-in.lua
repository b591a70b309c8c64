-- Class: two threads of one process with one owner id
-- Check: --assume none
-- Truth: mutual-exclusion-belief violated
-- Truth: mutual-exclusion-effect violated
-- Because: a lock that is reentrant by its owner id takes the second thread for the first one,
-- which acquires again.
return {
  callers = { count = 2, owner = "shared" },
  scripts = { "hash_lock", "hash_unlock" },
  ttl_step = 1000,

  acquire = function(lock)
    local got, err = script("hash_lock", { lock.key }, { lock.owner, lock.ttl / 1000 })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    return script("hash_unlock", { lock.key }, { lock.owner }) ~= nil
  end,
}
