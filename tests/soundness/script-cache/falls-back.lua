-- Class: a server forgets its scripts
-- Check: --assume none
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: assertion holds
-- Check: --assume node-restart-always
-- Truth: mutual-exclusion-belief holds
-- Truth: deadlock-freedom holds
-- Truth: assertion holds
-- Check: --assume node-flush
-- Truth: mutual-exclusion-belief violated
-- Truth: deadlock-freedom holds
-- Because: EVALSHA of a script that the server does not know executes nothing and says so; then
-- EVAL brings the text. What FLUSHALL deletes, and what a restart forgets, makes one more
-- round trip and nothing else.
return {
  name = "falls-back",
  scripts = {
    take = [[return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) and 1 or 0]],
    "release_if_owner",
  },
  acquire = function(lock)
    local keys, args = { lock.key }, { lock.token, lock.ttl }
    local got, err = evalsha("take", keys, args)
    if err and err.code == "NOSCRIPT" then
      assert_(err.definite, "what was not executed is told as such")
      got, err = script("take", keys, args)
    end
    if err then return failed(err.message) end
    return got == 1 and held() or busy()
  end,
  release = function(lock)
    local keys, args = { lock.key }, { lock.token }
    local gone, err = evalsha("release_if_owner", keys, args)
    if err and err.code == "NOSCRIPT" then gone, err = script("release_if_owner", keys, args) end
    return gone == 1
  end,
}
