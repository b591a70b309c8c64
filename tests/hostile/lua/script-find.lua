return string.find(string.rep("a", 30000), string.rep(".-", 200) .. "b")
