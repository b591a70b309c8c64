-- A token with an expiry, and a counter whose next value goes to whoever gets the lock: a
-- fencing token, https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html.
-- The hash tag puts it into the slot of the lock.
local function fence_of(lock)
  return "{" .. lock.key .. "}:fence"
end

return {
  name = "fenced",
  description = "SET NX PX with a token, and INCR of a fence in one script",
  scripts = { "fenced_lock", "release_if_owner" },
  keys = { lock = "{key}", fence = "{{key}}:fence" },
  -- 0: the fence is drawn by a second command, when the first one got the lock.
  params = { one_script = 1 },

  acquire = function(lock)
    local started = now()
    local fence, err
    if lock.params.one_script == 1 then
      fence, err = script("fenced_lock", { lock.key, fence_of(lock) }, { lock.token, lock.ttl })
      if fence == 0 then return busy() end
    else
      local set
      set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
      if not err and not set then return busy() end
      if not err then fence, err = redis("INCR", fence_of(lock)) end
    end
    if err then return failed(err.message) end
    return held { validity = lock.ttl - (now() - started), fence = fence }
  end,

  release = function(lock)
    return script("release_if_owner", { lock.key }, { lock.token }) == 1
  end,

  about = {
    works = [[A script sets the key with a token and an expiry, and if that succeeds it increments a counter
      and gives its value to the new holder: a fence. The holder sends it with each request to the
      guarded resource, which refuses a fence that is lower than one it has seen. The release
      deletes the key if it still has the token.]],
    claims = [[Two clients may believe at once that they hold the lock: one was paused, or worked for too
      long. The resource does not believe the older one, so no update is lost.]],
    repair = [[A fence is worth as much as its counter. Keep it on a server that saves every write, or in the
      resource itself: a counter that falls back hands out the same fence twice, and then the
      resource takes both.]],
  },
}
