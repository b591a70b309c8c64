for i=1,100000 do redis.call("SET", "k"..i, i) end for i=1,1e5 do redis.call("KEYS", "*a*a*a*a*a*b") end return 1
