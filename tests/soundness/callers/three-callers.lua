-- Class: a wrong declaration
-- Check: --assume none
-- Truth: refused
-- Because: the model has two callers of a process, not three.
return {
  callers = 3,
  acquire = function(lock) return busy() end,
  release = function(lock) return true end,
}
