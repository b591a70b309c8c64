-- SET NX PX with a token that only its owner knows; the release compares in the client and
-- deletes in a transaction that fails if the key was touched meanwhile:
-- https://redis.io/docs/latest/develop/interact/transactions/, "Optimistic locking using
-- check-and-set". What libraries do that send no scripts.
return {
  name = "token-watch",
  description = "SET NX PX with a token; WATCH, GET and DEL in MULTI and EXEC, in place of a script",
  params = { watch = 1 }, -- 0: it watches nothing, and only compares

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    -- Counted from before the request: the server's lease started no earlier.
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    if lock.params.watch == 1 then
      local _, unwatched = redis("WATCH", lock.key)
      if unwatched then return failed(unwatched.message) end
    end
    local value, unread = redis("GET", lock.key)
    if unread then return failed(unread.message) end
    if value ~= lock.token then
      -- A connection that is used again must not go on watching.
      if lock.params.watch == 1 then redis("UNWATCH") end
      return false
    end
    local replies, err = multi { { "DEL", lock.key } }
    if err then return failed(err.message) end
    if not replies then return false end -- somebody touched the key, or it has expired
    return replies[1] == 1
  end,

  about = {
    works = [[SET with NX and PX writes a token that no other attempt has, with its expiry. The release
      watches the key, reads it, and compares in the client. If the token is its own, DEL follows in a
      transaction. The server does nothing if the key was written, or has expired, since WATCH. The
      lock states a validity: what is left of the lease, counted from before the request was sent.]],
    claims = [[Libraries without scripts release like this. It is meant to be as good as comparing and
      deleting in a script: nobody deletes another client's lock.]],
    repair = [[What a watch cannot see is what happened before it, so the comparison has to come after
      WATCH, and all of it on one connection. It takes three round trips where a script takes one
      ("token"). For the rest the same holds as there: the work must end before the validity does.]],
  },
}
