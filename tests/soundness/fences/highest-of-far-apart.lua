-- Class: fences
-- Check: --nodes 2 --assume none
-- Truth: mutual-exclusion-validity holds
-- Truth: owner-only-release holds
-- Truth: fence-monotonicity unknown
-- Because: the first counter is drawn from each time, the second now and then, so the first is
-- the highest, always. How far the second one lies behind has no bound, and then the model knows
-- of the highest of both that it is a fence, and no more. That is no lack for the lock itself.
return {
  nodes = 2,
  keys = { lock = "{key}", fence = "{key}:fence" },
  scripts = { "release_if_owner" },

  acquire = function(lock)
    if not redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return busy() end
    local fence = redis("INCR", lock.key .. ":fence")
    if not fence then return failed("no fence") end
    if random(2) == 1 then
      local other = on(lock.nodes[2]).redis("INCR", lock.key .. ":fence")
      if not other then return failed("no fence") end
      fence = math.max(other, fence)
    end
    return held { fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,
}
