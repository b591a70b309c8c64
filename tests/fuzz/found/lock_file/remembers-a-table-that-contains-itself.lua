return {
  acquire = function(lock)
    local t = {}
    for i = 1, 40 do t = { t, t } end
    t[1] = t
    if redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) then return held() end
    return t and busy()
  end,
  release = function(lock) return redis("DEL", lock.key) == 1 end,
}
