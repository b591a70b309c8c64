-- SET NX PX with a constant value and a plain DEL: atomic since Redis 2.6.12
-- (https://redis.io/commands/set/), and still anybody's key to delete.
return {
  name = "set-nx-px",
  description = "SET NX PX with a constant value; plain DEL",

  acquire = function(lock)
    local set, err = redis("SET", lock.key, "1", "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if not set then return busy() end
    return held()
  end,

  release = function(lock)
    local _, err = redis("DEL", lock.key)
    if err then return failed(err.message) end
  end,

  about = {
    works = [[SET with NX and PX writes the key with its expiry if it is not there, in one command. The
      value is a constant. The release is a plain DEL.]],
    claims = [[Since Redis 2.6.12 one command does what SETNX and EXPIRE did in two, so articles call
      acquiring atomic and the deadlock solved. They go on to the next flaw: a holder whose work
      outlasts the lease deletes somebody else's lock.]],
    repair = [[Store a token that no other attempt has, and release by a script that compares and deletes:
      the lock "token". State a validity, counted from before the request, and stop the work
      before it ends. Where late work must do no harm, let the resource check a fencing token.]],
  },
}
