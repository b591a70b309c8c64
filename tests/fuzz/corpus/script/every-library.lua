local n = tonumber(ARGV[2]) or 0
local packed = cmsgpack.pack({ n, "x", { a = true } })
local text = cjson.encode({ list = { 1, 2.5, cjson.null }, packed = #packed })
local back = cjson.decode(text)
local raw = struct.pack(">I2s", 7, "ab")
local hit = string.find(text, '"list":%[(.-)%]') or 0
redis.call("SET", KEYS[1], string.format("%05.1f|%q", n, raw), "PX", 1000)
local ok = pcall(redis.call, "HGET", KEYS[1], "f")
table.sort(back.list, function(a, b) return tostring(a) < tostring(b) end)
return { hit, bit.band(n, 255), #cmsgpack.unpack(packed), ok and 1 or 0, unpack(redis.call("HGETALL", KEYS[2])) }
