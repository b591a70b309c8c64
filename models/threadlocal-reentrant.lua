-- A lock object that all threads of a process share: each thread counts its holds in its own
-- memory, and only the first one writes the key. A thread of a pool renews the lease: at once,
-- and then once a lease, four times at most, for as long as a flag is set.
--
-- Faults that belong to it: there is one flag for all locks of the object. Whoever gives back
-- any of them, also one that is not renewed, ends the renewal of all; and the next acquire
-- sets it again for a renewal of the last hold that sleeps still, which then goes on sending
-- the token of that hold. One renewal in a lease comes when the lease is over. A nested acquire
-- asks nobody, and the release says that it worked whatever the script found.
--
-- Left out: its methods are synchronized, so a call also waits for those of other threads. Its
-- pool has ten threads; here it has as many as `pool` says. A renewal that sleeps, and whose
-- hold was given back, makes room for the next one: it could find nothing that is its own. An
-- acquire that finds all of them at work fails.

-- True if a renewal can begin.
local function make_room(lock)
  self.renewals = self.renewals or {}
  if #self.renewals < lock.params.pool then return true end
  for place, renewal in ipairs(self.renewals) do
    if renewal.sleeps then
      stop(renewal.thread)
      table.remove(self.renewals, place)
      return true
    end
  end
  return false
end

local function renew(lock, token)
  local renewal = {}
  table.insert(self.renewals, renewal)
  renewal.thread = spawn(function()
    local times = 0
    while self.renewing and (times < lock.params.renewals or lock.params.renewals == 0) do
      local _, err = script("expire_if_owner", { lock.key }, { token, lock.ttl / 1000 })
      -- What fails is told in a log, is not counted, and is tried again at once.
      if not err then
        if lock.params.renewals > 0 then times = times + 1 end
        renewal.sleeps = true
        sleep(lock.ttl / lock.params.renewals_per_ttl)
        renewal.sleeps = nil
      end
    end
    for place, other in ipairs(self.renewals) do
      if other == renewal then table.remove(self.renewals, place) end
    end
  end)
end

-- Another thread of the process gives back another lock of the same object, one that it holds
-- without renewal. What it sends is about another key, and left out.
local function neighbour(lock)
  if lock.params.neighbours == 0 then return end
  stop(self.neighbour)
  self.neighbour = spawn(function()
    self.neighbour = nil
    self.renewing = false
  end)
end

return {
  name = "threadlocal-reentrant",
  description = "holds counted in the client's thread; renewed until a flag that all locks share says no",
  reentrant = true,
  ttl_step = 1000, -- EX and EXPIRE take whole seconds
  renews = true, -- by the thread above, for as long as the lock is held
  scripts = { "release_if_owner", "expire_if_owner" },
  params = {
    renewals = 4, -- of one hold, at most; 0: no end
    pool = { default = 2, check = 1 }, -- renewals that live at once: 1 or 2
    renewals_per_ttl = 1, -- the document sleeps for a lease
    neighbours = 1, -- 1: while it is held, another thread gives back another lock; 0: none does
  },

  acquire = function(lock)
    if self.count then
      self.count = self.count + 1
      return held()
    end
    if not make_room(lock) then return failed("all renewals are at work") end
    local set, err = redis("SET", lock.key, lock.token, "EX", lock.ttl / 1000, "NX")
    if err then return failed(err.message) end
    if not set then return busy() end
    self.count = 1
    self.renewing = true
    renew(lock, lock.token)
    neighbour(lock)
    return held()
  end,

  release = function(lock)
    self.count = self.count - 1
    if self.count > 0 then return true end
    self.count = nil
    self.renewing = false
    script("release_if_owner", { lock.key }, { lock.token })
    return true
  end,

  about = {
    works = [[One object locks for all threads of a process. A thread counts its holds of a key in its own
      memory; the first writes a token with SET NX EX, the last deletes it by a script that
      compares. A pool's thread renews the lease once in each, at most four times, while a flag
      of the object is set.]],
    claims = [[An article offers it as a usable lock: reentrant, with an owner's token, and kept alive while
      the work takes longer than the lease, if the caller wants that. Its author tested that it
      excludes and that it nests, and found nothing wrong.]],
    repair = [[Give each hold a flag of its own, and renew at a third of the lease, until the release. Read
      what the renewal and the release reply, and tell the caller of a lost lock. A nested acquire
      should look whether the key is still its own.]],
  },
}
