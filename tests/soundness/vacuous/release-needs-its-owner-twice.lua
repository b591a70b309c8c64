-- Class: vacuous answers
-- Check: --assume none
-- Truth: release-frees violated
-- Because: a release only marks the key. The same client can take it again and then deletes it,
-- but nobody else can take it before its lease is over.
return {
  acquire = function(lock)
    if redis("SET", lock.key, lock.owner, "NX", "PX", lock.ttl) then return held() end
    if redis("GET", lock.key) ~= lock.owner .. ":half" then return busy() end
    self.last = true
    return held()
  end,

  release = function(lock)
    if self.last then
      self.last = nil
      redis("DEL", lock.key)
    else
      redis("SET", lock.key, lock.owner .. ":half", "XX", "KEEPTTL")
    end
    return true
  end,
}
