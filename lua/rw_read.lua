local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
if redis.call('EXISTS', writeKey) == 1 then
  return 0
end
redis.call('SET', readKey, '1', 'EX', timeout)
return 1
