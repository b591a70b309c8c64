local a = {} for i=1,7900 do a[i]="k"..i end return redis.call("DEL", unpack(a))
