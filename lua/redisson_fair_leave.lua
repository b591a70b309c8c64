-- KEYS: queue, time-outs. ARGV: owner, ms that a waiter may stay.
local found = false
for _, waiter in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if found then
    redis.call('zincrby', KEYS[2], -tonumber(ARGV[2]), waiter)
  elseif waiter == ARGV[1] then
    found = true
  end
end
redis.call('zrem', KEYS[2], ARGV[1])
redis.call('lrem', KEYS[1], 0, ARGV[1])
