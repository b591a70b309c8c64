-- Class: what does not go together
-- Check: --assume none
-- Truth: refused line 8
-- Because: two callers that each have two lock objects are not in the model.
return {
  objects = 2,

  callers = 2,
  acquire = function(lock) return busy() end,
  release = function(lock) return true end,
}
