for i=1,20000 do redis.call("RPUSH", KEYS[1], "v") end for i=1,20000 do redis.call("LREM", KEYS[1], 1, "w") end return 1
