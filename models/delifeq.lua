-- SET NX PX with a token; the server itself compares and deletes: DELIFEQ of Valkey 9,
-- https://valkey.io/commands/delifeq/.
return {
  name = "delifeq",
  description = "SET NX PX with a token; DELIFEQ, which only Valkey has",
  server = "valkey",

  acquire = function(lock)
    local started = now()
    local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held { validity = lock.ttl - (now() - started) }
  end,

  release = function(lock)
    local deleted, err = redis("DELIFEQ", lock.key, lock.token)
    if err then return failed(err.message) end
    return deleted == 1
  end,

  about = {
    works = [[SET with NX and PX writes a token that no other attempt has. The release is one command,
      DELIFEQ: the server compares and deletes. The lock states a validity, counted from before
      the request was sent.]],
    claims = [[The manual of Valkey 9 describes DELIFEQ as deleting a key only if it has a given value, in
      one step. So no script is needed for a release that cannot hit another client's lock.]],
    repair = [[It has the limits of "token", and the same remedies: end the work before the validity does,
      let the resource check a fencing token where that cannot be promised, and save every write,
      or keep a server that lost its data away for longer than a lease.]],
  },
}
