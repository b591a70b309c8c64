local t = {} for i=1,100000 do t = {t} end return cjson.encode(t)
