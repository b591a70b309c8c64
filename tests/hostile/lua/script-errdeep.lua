error({err=string.rep("x", 1000000)})
