-- Class: a release of which the model does not know what it does
-- Check: --assume delay --ttl-ticks 2 --property no-orphan-at-once
-- Truth: no-orphan-at-once unknown
-- Because: the hashes of two tokens are equal if the tokens are, so the script deletes the key of
-- its own attempt. Hashes have no answer in the model: where the late script runs, nothing is
-- known of what it leaves.
return {
  name = "what-is-unknown-leaves-nothing",
  scripts = {
    release = [[
      if redis.sha1hex(redis.call("GET", KEYS[1]) or "") == redis.sha1hex(ARGV[1]) then
        return redis.call("DEL", KEYS[1])
      end
      return 0
    ]],
  },
  acquire = function(lock)
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then
      script("release", { lock.key }, { lock.token })
      return failed(err.message)
    end
    return set and held() or busy()
  end,
  release = function(lock)
    return script("release", { lock.key }, { lock.token }) == 1
  end,
}
