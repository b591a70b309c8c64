-- Class: what a script really uses
-- Check: --assume none
-- Truth: mutual-exclusion-belief not-holds
-- Because: in every other second of the server's clock the script takes the key without a
-- look, and two clients hold. No text of the file names the command that reads the clock.
return {
  scripts = {
    "release_if_owner",
    take = [[
      local seconds = redis.call(string.lower("T") .. "IME")[1]
      if tonumber(seconds) % 2 == 1 and redis.call("exists", KEYS[1]) == 1 then return 0 end
      redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
      return 1
    ]],
  },

  acquire = function(lock)
    if script("take", { lock.key }, { lock.token, lock.ttl }) == 1 then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
