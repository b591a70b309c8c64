local lockKey, timeout, writeExpTime, now = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local writeValue = redis.call('HGET', lockKey, 'write')
if writeValue and not (now - tonumber(writeValue) > writeExpTime) then
  return 0
end
redis.call('HSET', lockKey, 'read', ARGV[3])
redis.call('PEXPIRE', lockKey, timeout)
return 1
