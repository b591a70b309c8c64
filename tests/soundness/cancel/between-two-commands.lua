-- Class: an acquire that is interrupted between two commands
-- Check: --assume none
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Check: --assume cancel
-- Truth: no-orphan violated
-- Truth: deadlock-freedom violated
-- Truth: mutual-exclusion-belief holds
-- Truth: owner-only-release holds
-- Because: SETNX has made the key when the caller interrupts the acquire, so EXPIRE is never
-- sent. The key stays for ever, and nobody holds it. Who releases deletes a key of its own:
-- nothing takes it away before, since the holder's work ends within its lease, which began
-- after SETNX was sent.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, lock.token)
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    local left, late = redis("PEXPIRE", lock.key, lock.ttl)
    if late then return failed(late.message) end
    return held()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
