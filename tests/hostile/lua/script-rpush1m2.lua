local a = {} for i=1,5000 do a[i]="v" end for i=1,200 do redis.call("RPUSH", KEYS[1], unpack(a)) end return 1
