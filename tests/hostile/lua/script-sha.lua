for i=1,1e7 do redis.sha1hex(string.rep("a", 100000)) end return 1
