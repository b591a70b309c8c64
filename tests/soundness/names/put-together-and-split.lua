-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: honest-outcome holds
-- Truth: lease holds
-- Truth: deadlock-freedom holds
-- Check: --assume overrun
-- Truth: owner-only-release holds
-- Truth: mutual-exclusion-belief violated
-- Because: owner and token are joined by a sign that neither has, and split there again, which
-- depends on no letter of theirs. The release compares the whole token, so a late one deletes
-- nothing. Work that outlasts the lease meets the next owner.
return {
  scripts = {
    give = [[
      local value = redis.call("get", KEYS[1])
      if not value then return 0 end
      local at = string.find(value, ":", 1, true)
      if at and string.sub(value, at + 1) == ARGV[1] then return redis.call("del", KEYS[1]) end
      return 0
    ]],
  },

  acquire = function(lock)
    local mine = lock.owner .. ":" .. lock.token
    if redis("SET", lock.key, mine, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
