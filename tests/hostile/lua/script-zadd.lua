for i=1,100000 do redis.call("ZADD", KEYS[1], i, "v"..i) end return 1
