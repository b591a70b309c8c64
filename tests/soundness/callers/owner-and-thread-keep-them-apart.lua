-- Class: two threads of one process, each with an owner id of its own
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: mutual-exclusion-effect holds
-- Truth: owner-only-release holds
-- Truth: honest-outcome holds
-- Because: the lock is as one of two processes: the field of the hash names process and thread.
return {
  callers = 2,
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
