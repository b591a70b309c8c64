local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'read')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[2] .. ':1', 1)
  redis.call('pexpire', KEYS[2] .. ':1', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or redis.call('hexists', KEYS[1], ARGV[3]) == 1 then
  -- The library counts on.
  if redis.call('hget', KEYS[1], ARGV[2]) == '2' then return redis.error_reply('ERR held twice') end
  redis.call('hset', KEYS[1], 'mode', mode)
  local hold = KEYS[2] .. ':' .. redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('set', hold, 1)
  redis.call('pexpire', hold, ARGV[1])
  if redis.call('pttl', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('pexpire', KEYS[1], ARGV[1])
  end
  return nil
end
return redis.call('pttl', KEYS[1])
