-- Class: tokens and owners are not plain texts
-- Check: --assume none
-- Truth: owner-only-release not-holds
-- Because: two clients may come within one millisecond, and then their stamps are one text.
-- The release is sent twice, to be sure, and the second one can delete the next owner's key.
return {
  scripts = { "release_if_owner" },

  acquire = function(lock)
    self.stamp = now()
    if redis("SET", lock.key, self.stamp, "NX", "PX", lock.ttl) then return held() end
    return busy()
  end,

  release = function(lock)
    local freed = script("release_if_owner", { lock.key }, { self.stamp }) == 1
    script("release_if_owner", { lock.key }, { self.stamp })
    return freed
  end,
}
