return struct.pack("c2147483647", "x")
