-- SETNX, then EXPIRE in a second command, and a plain DEL: where most tutorials begin.
--
-- Faults that belong to it: a client that dies between the two commands leaves
-- a key that never expires, and DEL removes whatever is there, also the key of
-- the next owner.
return {
  name = "setnx-expire",
  description = "SETNX, then EXPIRE in a second command; plain DEL",
  ttl_step = 1000, -- EXPIRE takes whole seconds

  acquire = function(lock)
    local set, err = redis("SETNX", lock.key, "1")
    if err then return failed(err.message) end
    if set == 0 then return busy() end
    local _, late = redis("EXPIRE", lock.key, lock.ttl / 1000)
    if late then return failed(late.message) end
    return held()
  end,

  -- Says nothing about its effect: the document's unlock returns nothing.
  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[SETNX writes the key if it is not there. EXPIRE then gives it a lease, in a second command.
      The release is a plain DEL, whoever owns the key by then.]],
    claims = [[Articles introduce EXPIRE so that a holder that dies no longer blocks the others for ever.
      The same articles see the gap: a client that dies between the two commands leaves a key that
      never ends.]],
    repair = [[Write the value and its expiry together: SET with NX and PX, or both commands in one script
      ("setnx-expire-lua"). Then let the release compare a token before it deletes ("token").]],
  },
}
