-- SETNX and DEL, as the manual page of SETNX had it first: https://redis.io/commands/setnx/.
--
-- A fault that belongs to it: who dies while it holds leaves a key that never expires.
return {
  name = "setnx-del",
  description = "SETNX, no expiry; plain DEL",

  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, "1")
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[SETNX writes the key if it is not there, in one command. The reply 1 means that the lock is
      held, 0 that somebody else has it. The release is a plain DEL, and nothing else ever removes
      the key.]],
    claims = [[Articles present it as the first version that excludes other clients, as long as nothing
      fails: one shop used it so that no coupon is given away twice. They name its flaw
      themselves: if the holder dies, nobody can acquire any more.]],
    repair = [[Give the key an expiry in the command that writes it (SET with NX and PX), so that a dead
      holder's lock ends by itself. As soon as keys expire, a plain DEL can hit the next owner, so
      a token and a compare-and-delete script belong to it: the lock "token".]],
  },
}
