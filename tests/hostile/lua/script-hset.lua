for i=1,100000 do redis.call("HSET", KEYS[1], "f"..i, i) end return 1
