-- EXISTS, then SET in a second command, and a plain DEL: the first idea of many.
--
-- Faults that belong to it: between the two commands another client can do the same, the
-- key never expires, and DEL removes whatever is there.
return {
  name = "exists-set",
  description = "EXISTS, then SET in a second command, no expiry; plain DEL",

  acquire = function(lock)
    local there, err = redis("EXISTS", lock.key)
    if err then return failed(err.message) end
    if there == 1 then return busy() end
    local _, unset = redis("SET", lock.key, "1")
    if unset then return failed(unset.message) end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[EXISTS asks whether the key is there. If it is not, SET writes it in a second command,
      without an expiry. The release is a plain DEL.]],
    claims = [[It is the first sketch of an article that goes through the usual mistakes: a key as a flag,
      looked at, set and deleted. The article warns of it at once: between the two commands
      another client can do the same, so the lock can be taken twice.]],
    repair = [[Test and write in one command: SET with NX and PX. Write a token that no other attempt has,
      and let a script delete the key only if it still has that token. That is the lock "token".]],
  },
}
