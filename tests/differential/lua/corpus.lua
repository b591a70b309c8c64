return 1
----
local f = function(...) return select('#', ...), ... end return f(1, nil, nil)
----
local function f(a, ...) return arg and arg.n or 'none', arg and arg[1] end return f(1, 2, 3)
----
local function f(...) local x = ... return arg end return f(1)
----
local t = {} for i = 1, 3 do t[i] = function() i = i + 1 return i end end return t[1](), t[1](), t[2]()
----
local a = {} local i = 1 i, a[i] = i + 1, 20 return i, a[1], a[2]
----
local x x.y = 1
----
local x = {} x.y.z = 1
----
return undefinedfunction()
----
local t = {} t.f()
----
local t = {} t:f()
----
return (nil)()
----
return 1 + nil
----
local s = 'a' return s + 1
----
return {} .. 'x'
----
return 'x' .. {}
----
return 1 < 'x'
----
return {} < {}
----
return nil > 1
----
return #5
----
return -{}
----
local a = 'x' return a.b.c
----
for i = 1, 'x' do end
----
for i = 'a', 2 do end
----
for i = 1, 2, {} do end
----
for x in 5 do end
----
return string.rep()
----
return ('x'):rep()
----
return ('x').rep(1, {})
----
return string.sub()
----
return math.floor('x')
----
return setmetatable(1, 2)
----
return setmetatable({}, 2)
----
return tostring()
----
return select(0)
----
return select(-1, 1, 2, 3)
----
return unpack({1, 2, 3}, -1, 1)
----
return unpack({}, 1, 1e8)
----
x = = 1
----
return return
----
if x then
----
local a = 'unfinished
----
local a = [[unfinished
----
local a = "\400"
----
f(
----
for i = 1 do end
----
local function f() return ... end
----
break
----
goto x
----
x = 1e
----
x = 3x
----
x = 0x
----
return 0xA, 0Xa, .5, 5., 3e-2, 0x10
----
return "a\
b", 'a\z', "\065\10\n", '\"'
----
return [==[
first
]]second]==]
----
--[[ comment
]] return 1 --[==[ x ]==]
----
f
(1)
----
local a <const> = 1
----
return not nil == true, not (1 == 2), - 2 ^ 2, 2 ^ -1, 2 ^ 3 ^ 2
----
return 1 .. 2, 1 .. '', -1 .. ''
----
return 5 % 3, -5 % 3, 5 % -3, -5 % -3, 5.5 % 2, 1 % (1/0), -1 % (1/0)
----
return 1/0, -1/0, 0/0 ~= 0/0, 10 / 4
----
return 'a' < 'b', 'a' < 'B', '' < 'a', 'a\0b' < 'a\0c'
----
return 1 == '1', '1' == 1, nil == false
----
return #'abc', #{1, 2, 4}, #{n = 1}, #{nil}, #{{}, 2}
----
local t = {1, 2, 3} t[#t] = nil return #t, t[3]
----
local t = {10, 20, 30, nil} return #t, unpack({1, nil, 3}, 1, 3)
----
local t = {f = function(self, x) return self, x end} return t:f(1) == t, select(2, t:f(7))
----
return (function() return 1, 2 end)(), (function() return 3, 4 end)()
----
return ((function() return 1, 2 end)())
----
local t = {(function() return 1, 2 end)(), (function() return 3, 4 end)()} return #t
----
return pcall(error), pcall(error, nil), pcall(error, 'x', 0), pcall(error, {1})
----
local function f() error('deep', 2) end local function g() f() end return pcall(g)
----
local function f() error('deep', 3) end local function g() f() end local function h() g() end return pcall(h)
----
local function f() return error('tail') end return pcall(f)
----
local function g() error('x', 2) end local function f() return g() end return pcall(f)
----
return pcall(string.rep), pcall(string.sub, {})
----
return xpcall(function() error('x') end, function(e) return e .. '!' end)
----
return xpcall(function() return 1, 2 end, print)
----
return pcall(pcall), pcall(pcall, error, 'e')
----
local function f(n) return n == 0 and 'done' or f(n - 1) end return f(50000)
----
local function f(n) return 1 + f(n + 1) end return (pcall(f, 1))
----
local t = setmetatable({}, {__index = function(t, k) return k .. '!' end}) return t.x, t[1], rawget(t, 'x')
----
local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * 2) end}) t.x = 2 t.x = 3 return t.x
----
local t = setmetatable({}, {__newindex = {}}) t.x = 2 return t.x
----
local m = {__lt = function() return true end, __le = function() return false end} local a, b = setmetatable({}, m), setmetatable({}, m) return a < b, a <= b, a > b, a >= b
----
local m = {__lt = function(a, b) return true end} local a, b = setmetatable({}, m), setmetatable({}, m) return a <= b, a >= b
----
return setmetatable({}, {__metatable = 'no'}) and getmetatable(setmetatable({}, {__metatable = 'no'}))
----
return pcall(setmetatable, setmetatable({}, {__metatable = 1}), {})
----
local t = setmetatable({}, {__len = function() return 9 end}) return #t
----
local t = setmetatable({}, {__unm = function() return 'neg' end, __call = function(self, ...) return ... end}) return -t, t(1, 2)
----
return string.find('a.b', '.', 1, true), string.find('abc', 'b', -1), string.find('abc', ''), string.find('', ''), string.find('abc', '', 10)
----
return ('x'):find('x', 2), ('aXb'):find('%u'), ('a]b'):find('[]]'), ('a-b'):find('[a%-]', 2)
----
return ('key = value'):match('^(%w+)%s*=%s*(%w+)$')
----
return ('abc'):gsub('', '-'), ('abc'):gsub('.', {a = 1, b = true}), ('abc'):gsub('%w', '%0%0', 2), ('hello'):gsub('l', function() end)
----
return ('abc'):gsub('b', '%2')
----
return ('abc'):gsub('(b)', '%1%%')
----
return string.format('%5.2f|%-8s|%08d|%+.3e|%x|%q', 3.14159, 'ab', -42, 12345.678, 255, 'a"b\n\0c\\')
----
return string.format('%s %s', 1, 'x'), string.format('%d', '10'), string.format('%c%c', 72, 105)
----
return string.format('%d', 1.9), string.format('%d', -1.9), string.format('%x', -1), string.format('%g %g', 1e20, 0.1)
----
return string.format('%s')
----
return string.format('%d', 'x')
----
return tonumber('10', 2), tonumber('ff', 16), tonumber('zz', 36), tonumber('8', 8), tonumber('-10', 2), tonumber(' 11 ', 2), tonumber('0x1f', 16), tonumber('1e1', 16)
----
return tonumber('  12  '), tonumber('12a'), tonumber(''), tonumber('0x'), tonumber('1 2'), tonumber(nil)
----
return tonumber()
----
return tostring(1e15), tostring(1e14), tostring(123456.789), tostring(-0), tostring(1e-5), tostring(2^63), tostring(true), tostring(nil)
----
local t = {5, 2, 8, 1, 9, 3} table.sort(t) return table.concat(t, ' ')
----
local t = {'b', 'a', 'c'} table.sort(t, function(x, y) return x > y end) return table.concat(t)
----
local t = {1, 2, 3, 4, 5} table.sort(t, function() return true end) return 1
----
return table.concat({1, 2, 3}, ', ', 2, 3), table.concat({}), table.concat({1, 'x', 2.5})
----
return table.concat({1, {}, 3})
----
local t = {1, 2, 3} table.insert(t, 2, 'x') local r = table.remove(t, 1) return r, table.concat(t, ','), table.remove({}), #t
----
return table.insert({}, 1, 2, 3)
----
return table.maxn({1, 2, [10] = 1}), table.getn({1, 2})
----
return table.foreach({1, 2}, function(k, v) if k == 2 then return v end end), table.foreachi({5, 6}, function(k, v) return v end)
----
return math.max(1, 5, 3), math.min(2, -1), math.fmod(7, 3), math.fmod(-7, 3), math.abs(-2), math.huge, math.modf(3.7)
----
return math.frexp(8), math.ldexp(0.5, 4), math.pow(2, 10), math.mod(7, 4)
----
return math.max()
----
local s = '' for w in string.gmatch('one two  three', '%a+') do s = s .. w .. ';' end return s
----
local s = '' for k, v in string.gmatch('a=1, b=2', '(%w+)=(%w+)') do s = s .. k .. v end return s
----
return next({}), next({10}), next({10}, 1), type(next), pcall(next, {}, 'nokey')
----
local a, b, c = (function() return 1, 2 end)() return a, b, c
----
local a <close> = 1
----
return 1;
----
;
----
local t = {1, 2; 3, [10] = 4, x = 5,} return t[10], t.x
----
return '1\0x' + 1, tonumber('7\0')
----
do local a = 1 do local a = 2 end return a end
----
local i = 0 repeat local j = i i = i + 1 until j == 3 return i
----
while true do break end return 'out'
----
local r = {} for i = 10, 1, -3 do r[#r + 1] = i end return unpack(r)
----
local r = 0 for i = 1, 0 do r = 1 end for i = 0.1, 0.35, 0.1 do r = r + 1 end return r
----
return (("x"):rep(3, ',')), ("ab"):byte(1, -1), ("ab"):reverse(), ("aB"):upper(), ("aB"):lower(), ("abc"):len()
----
return ("abc"):sub(2), ("abc"):sub(-2), ("abc"):sub(2, 2), ("abc"):sub(0), ("abc"):sub(5), ("abc"):sub(-100, 100), ("abc"):sub(3, 1)
----
return assert(1, 2, 3)
----
return assert(nil)
----
return assert(false, 'msg')
----
return assert(nil, {})
----
return rawequal('a', 'a'), rawequal({}, {}), rawget({1}, 1), rawset({}, 'a', 1).a
----
return pcall(rawset, {}, nil, 1)
----
local t = {} t[nil] = 1
----
local t = {} t[0/0] = 1
----
return ({})[nil], ({})[0/0]
----
return 1
----
local up = 1 local function f() up = up + 1 return up end local function g() return up end f() return g(), f(), g()
----
local function outer() local x = 0 return function() x = x + 1 return x end, function() return x end end local inc, get = outer() inc() inc() return get()
----
return tostring(12345678901234567890), 1e308 * 10, -1e308 * 10, 5 // 1
----
return type(type), type(nil), type({}), type('x'), type(2), type(true)
----
return type()
----
local t = {} for k, v in pairs({a = 1}) do t[k] = v end return t.a
----
return ipairs()
----
return #arg
