local t = {}
t[1] = t
error(t)
