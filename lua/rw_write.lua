local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
if redis.call('EXISTS', readKey) == 1 then
  return 0
end
if redis.call('SET', writeKey, '1', 'EX', timeout, 'NX') then
  return 1
else
  return 0
end
