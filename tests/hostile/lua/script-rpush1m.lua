for i=1,1000000 do redis.call("RPUSH", KEYS[1], "v") end return 1
