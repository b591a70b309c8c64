-- Class: names
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: the clock is read twice. If a millisecond passes between, the second field is a new
-- one, though the token in it is the same; then the client deletes the lock, whosever it is.
return {
  scripts = {
    "release_if_owner",
    is_new = [[
      redis.call("hsetnx", KEYS[1], ARGV[1], 1)
      local new = redis.call("hsetnx", KEYS[1], ARGV[2], 1)
      redis.call("del", KEYS[1])
      return new
    ]],
  },

  acquire = function(lock)
    local one = lock.token .. ":" .. now()
    local other = lock.token .. ":" .. now()
    if script("is_new", { lock.key .. ":seen" }, { one, other }) == 1 then
      redis("DEL", lock.key)
    end
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
