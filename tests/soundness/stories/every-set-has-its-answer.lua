-- Class: one story, one trace
-- Check: --ttl-ticks 2
-- Truth: mutual-exclusion-belief holds under none
-- Truth: lease holds under none
-- Truth: mutual-exclusion-belief violated under overrun
-- Truth: mutual-exclusion-belief violated under client-skew
-- Truth: mutual-exclusion-belief not-holds under clock-jump
-- Truth: mutual-exclusion-belief holds under node-restart-always
-- Truth: mutual-exclusion-belief violated under node-restart-none
-- Because: the key ends at a time of the client's clock, whatever the server's clock does
-- meanwhile: a server whose clock jumps ahead lets it expire. That one set may be too hard for
-- the model must not hide what it finds out about the others.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    local ends = now() + lock.ttl
    local set, err = redis("SET", lock.key, lock.token, "NX", "PXAT", ends)
    if err then return failed(err.message) end
    if set then return held() end
    return busy()
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
