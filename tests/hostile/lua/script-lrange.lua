for i=1,10000 do redis.call("RPUSH", KEYS[1], "v") end for i=1,1e6 do redis.call("LRANGE", KEYS[1], 0, -1) end return 1
