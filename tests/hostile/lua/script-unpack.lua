return unpack({}, -1, 2147483647)
