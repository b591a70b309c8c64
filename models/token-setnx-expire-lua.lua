-- A token "uuid.timestamp"; SETNX and EXPIRE in one script, compare-and-delete in another.
-- A handle that is locked refuses a second acquire, and acquire polls.
--
-- A fault that belongs to it: the count of tries is raised before it is compared, so there
-- is one try less than asked for. The release forgets the lock before it asks the server,
-- and ignores the answer.
return {
  name = "token-setnx-expire-lua",
  description = "SETNX and EXPIRE in a script with a token, polling; compare-and-delete in a script",
  ttl_step = 1000, -- EXPIRE takes whole seconds
  scripts = { "setnx_expire", "release_if_owner" },
  params = {
    max_tries = 3, -- as asked for; one less are made
    interval = { default = 100, check = 1000 }, -- ms between two tries
  },

  acquire = function(lock)
    if self.locked then return failed("already locked!") end
    local try = 0
    while true do
      try = try + 1
      if try >= lock.params.max_tries then return busy() end
      local set, err = script("setnx_expire", { lock.key }, { lock.token, lock.ttl / 1000 })
      -- Any error is "not locked" to the caller.
      if err then return failed(err.message) end
      self.locked = set == 1
      if self.locked then return held() end
      sleep(lock.params.interval)
    end
  end,

  release = function(lock)
    self.locked = false
    local _, err = script("release_if_owner", { lock.key }, { lock.token })
    if err then return failed(err.message) end
  end,

  about = {
    works = [[A script sends SETNX with a token and, if that wrote the key, EXPIRE; a second script
      compares and deletes. A handle that is locked refuses another acquire, and an acquire polls
      a few times. The release forgets the lock before it asks the server, and does not look at
      the answer.]],
    claims = [[It is the final version of an article that has been through SETNX, GETSET and scripts: no
      client's clock, no death between two commands, and since its last correction no release of
      another client's lock. It says itself that the lock is not reentrant and that a handle
      belongs to one thread.]],
    repair = [[State a validity, counted from before the script is sent, and end the work before it does,
      as "token" does. Report whether the release deleted the key. Raise the count of tries after
      the comparison, or one try is missing. Where late work must do no harm, the resource needs a
      fencing token.]],
  },
}
