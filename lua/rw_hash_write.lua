local lockKey, timeout = KEYS[1], ARGV[1]
local readExpTime, writeExpTime, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local writeValue = redis.call('HGET', lockKey, 'write')
if writeValue and not (now - tonumber(writeValue) > writeExpTime) then
  return 0
end
local readValue = redis.call('HGET', lockKey, 'read')
if readValue and not (now - tonumber(readValue) > readExpTime) then
  return 0
end
redis.call('HSET', lockKey, 'write', ARGV[4])
redis.call('PEXPIRE', lockKey, timeout)
return 1
