-- KEYS: lock, queue, time-outs. ARGV: lease ms, owner, ms that a waiter may stay, the caller's time.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then break end
  local until_ = redis.call('zscore', KEYS[3], head)
  if not until_ or tonumber(until_) > tonumber(ARGV[4]) then break end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end

if redis.call('exists', KEYS[1]) == 0
  and (redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2])
then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
  -- Whoever waits still has one before it less.
  for _, waiter in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
    redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), waiter)
  end
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end

if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end

if redis.call('zscore', KEYS[3], ARGV[2]) then
  return math.max(0, redis.call('pttl', KEYS[1]))
end

-- To the end of the queue. Its time is over a wait after that of the one before it, or after the
-- lease of the holder.
local last = redis.call('lindex', KEYS[2], -1)
local of_last = last and last ~= ARGV[2] and redis.call('zscore', KEYS[3], last)
local left
if of_last then
  left = tonumber(of_last) - tonumber(ARGV[4])
else
  left = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], tonumber(ARGV[4]) + left + tonumber(ARGV[3]), ARGV[2]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[2])
end
return left
