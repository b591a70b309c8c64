local lockKey, field, stamp = KEYS[1], ARGV[1], ARGV[2]
if redis.call('HGET', lockKey, field) == stamp then
  return redis.call('HDEL', lockKey, field)
else
  return 0
end
