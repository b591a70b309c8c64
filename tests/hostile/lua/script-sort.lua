local t = {} for i=1,50000 do t[i] = i end table.sort(t, function(a,b) return true end) return 1
