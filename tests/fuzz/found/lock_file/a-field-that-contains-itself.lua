local t = {}
t[1] = t
return { [t] = 1 }
