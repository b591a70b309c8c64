return cjson.decode(string.rep("[", 100000))
