-- KEYS: lock, queue, time-outs, channel. ARGV: message, lease ms, owner, the caller's time.
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head then break end
  local until_ = redis.call('zscore', KEYS[3], head)
  if not until_ or tonumber(until_) > tonumber(ARGV[4]) then break end
  redis.call('zrem', KEYS[3], head)
  redis.call('lpop', KEYS[2])
end

local held = redis.call('exists', KEYS[1]) == 1
if held then
  if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
  if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
    return 0
  end
  redis.call('del', KEYS[1])
end
local next = redis.call('lindex', KEYS[2], 0)
if next then redis.call('publish', KEYS[4] .. ':' .. next, ARGV[1]) end
return 1
