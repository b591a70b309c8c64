-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: lease holds
-- Truth: honest-outcome holds
-- Truth: no-orphan holds
-- Truth: deadlock-freedom holds
-- Because: each client announces itself under a key of its own and takes that away when it
-- ends; the lock itself is the token lock.
return {
  keys = { lock = "{key}", queue = "{key}:wait:{name}" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local ticket = lock.key .. ":wait:" .. lock.owner
    redis("SET", ticket, "1", "PX", lock.ttl)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    redis("DEL", ticket)
    if set then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
