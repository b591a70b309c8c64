-- The words of a lock file that need no driver, and the fences around the rest.
--
-- Runs once in each Lua state, before the user's file and outside its reach.
-- `host` brings the words that suspend (they are C functions made by words.rs);
-- `present` holds the numbers that the driver keeps up to date:
-- [1] the client's clock in ms, [2] the horizon in ms.
-- Returns what the driver keeps: environment, words, and tables to look into.
local host, present, banned = ...

local error, type, next, setmetatable = error, type, next, setmetatable
local newproxy, getmetatable = newproxy, getmetatable
local tonumber, tostring, unpack = tonumber, tostring, unpack
local floor, sort = math.floor, table.sort
local find, match, gsub, format, sub = string.find, string.match, string.gsub, string.format, string.sub

---------------------------------------------------------------------- times

-- A time is a userdata without content; its ms stand in this side table. A
-- plain table would let `#` and indexing through.
local time_ms = setmetatable({}, { __mode = "k" })
local time_kind = newproxy(true)

local function clamp(ms)
  local horizon = present[2]
  if ms > horizon then return horizon elseif ms < -horizon then return -horizon end
  return ms
end

-- What a program can learn of a time is a function of this number, and this
-- number is what the local state is keyed by.
local function relative(time) return clamp(time_ms[time] - present[1]) end

local function new_time(ms)
  local time = newproxy(time_kind)
  time_ms[time] = ms
  return time
end

local function whole_ms(ms)
  if type(ms) ~= "number" or ms ~= ms then
    error("only ms (a number) can be added to or taken from a time", 3)
  end
  if ms > present[2] or ms < -present[2] then
    error(format("%g ms is beyond the horizon of %g ms; raise the horizon of the check", ms, present[2]), 3)
  end
  return floor(ms + 0.5)
end

local meta = getmetatable(time_kind)
meta.__metatable = false
meta.__sub = function(a, b)
  if not time_ms[a] then error("a time can not be taken from a number", 2) end
  if time_ms[b] then return clamp(relative(a) - relative(b)) end
  return new_time(present[1] + relative(a) - whole_ms(b))
end
meta.__add = function(a, b)
  if time_ms[a] and time_ms[b] then error("two times can not be added; add ms to a time", 2) end
  if not time_ms[a] then a, b = b, a end
  return new_time(present[1] + relative(a) + whole_ms(b))
end
meta.__eq = function(a, b) return relative(a) == relative(b) end
meta.__lt = function(a, b) return relative(a) < relative(b) end
meta.__le = function(a, b) return relative(a) <= relative(b) end
local function no_such(what)
  return function()
    error(what .. "; a time can be compared with a time, times subtract to ms, and ms can be added", 2)
  end
end
meta.__concat = no_such("a time can not be part of a text (pass it to a command as an argument of its own)")
meta.__unm = no_such("a time can not be negated")
meta.__mul = no_such("a time can not be multiplied")
meta.__div = no_such("a time can not be divided")
meta.__mod = no_such("a time has no remainder")
meta.__pow = no_such("a time can not be raised to a power")
meta.__len = no_such("a time has no length")
meta.__index = no_such("a time has no fields")
meta.__newindex = no_such("a time has no fields")
meta.__call = no_such("a time can not be called")
meta.__tostring = no_such("a time can not become a text")

local function now() return new_time(present[1]) end

local function time(value)
  if value == nil or value == false then return nil end
  if time_ms[value] then return value end
  if type(value) ~= "string" and type(value) ~= "number" then
    error("time(value) reads a decimal text that came from Redis, not a " .. type(value), 2)
  end
  local text = tostring(value)
  if #text > 15 or not find(text, "^%d+$") then return nil end
  return new_time(tonumber(text))
end

------------------------------------------------------------- locked tables

local locked_content = setmetatable({}, { __mode = "k" })

-- A read-only view. A userdata, because Lua 5.1 asks tables for no __len.
local function locked(name, content)
  local view = newproxy(true)
  local m = getmetatable(view)
  m.__metatable = false
  m.__index = function(_, field)
    local value = content[field]
    if value == nil then
      error(format("%s has no `%s`%s", name, tostring(field), banned[name .. "." .. tostring(field)] or ""), 2)
    end
    return value
  end
  m.__newindex = function()
    error(name .. " can not be changed; keep what must last in `self`", 2)
  end
  m.__len = function() return #content end
  locked_content[view] = content
  return view
end

--------------------------------------------------- a library without state

local function kind(value)
  if time_ms[value] then return "time" end
  if locked_content[value] then return "table" end
  return type(value)
end

local function kind_of(value)
  if value == nil then return "nil" end
  return kind(value)
end

local function plain(value, what)
  local t = type(value)
  if t ~= "string" and t ~= "number" and t ~= "boolean" and t ~= "nil" then
    error(format("%s takes texts, numbers and booleans, not a %s", what, kind_of(value)), 3)
  end
end

local rank = { number = 1, string = 2, boolean = 3 }
local function less(a, b)
  local ra, rb = rank[type(a)], rank[type(b)]
  if not ra or not rb then
    error(format("a table key must be a text, a number or a boolean, not a %s", kind_of(ra and b or a)), 3)
  end
  if ra ~= rb then return ra < rb end
  if ra == 3 then return not a and b end
  return a < b
end

-- The key after `key` in sorted order. It keeps nothing between its calls, so
-- a suspended loop is plain data: this function, the table, the key.
local function following(content, key)
  content = locked_content[content] or content
  local best
  for candidate in next, content do
    if (key == nil or less(key, candidate)) and (best == nil or less(candidate, best)) then
      best = candidate
    end
  end
  if best ~= nil then return best, content[best] end
end

local function element(content, index)
  content = locked_content[content] or content
  index = index + 1
  local value = content[index]
  if value ~= nil then return index, value end
end

local function table_only(value, what)
  if kind_of(value) ~= "table" then error(format("%s takes a table, not a %s", what, kind_of(value)), 3) end
  return value
end

-- Lua's matcher backtracks: a few repetitions on a long text can run for ever
-- inside one C call, where no instruction limit reaches.
local function bounded(text, pattern, what)
  if type(text) ~= "string" and type(text) ~= "number" then
    error(format("%s takes a text, not a %s", what, kind_of(text)), 3)
  end
  if type(pattern) ~= "string" then error(what .. ": the pattern must be a text", 3) end
  local _, repetitions = gsub(pattern, "[%*%+%-%?]", "")
  if #tostring(text) > 512 or #pattern > 64 or repetitions > 2 or find(pattern, "%%[bf]") then
    error(what .. ": a pattern may have 64 characters, two repetitions (* + - ?) and no %b or %f, "
      .. "and the text 512 characters; string.find(text, part, 1, true) has no such limit", 3)
  end
end

local text = {
  len = string.len, sub = string.sub, lower = string.lower, upper = string.upper,
  byte = string.byte, char = string.char, reverse = string.reverse, rep = string.rep,
}
function text.find(s, pattern, init, is_plain)
  if not is_plain then bounded(s, pattern, "string.find") end
  return find(s, pattern, init, is_plain)
end
function text.match(s, pattern, init)
  bounded(s, pattern, "string.match")
  return match(s, pattern, init)
end
function text.gsub(s, pattern, replacement, count)
  bounded(s, pattern, "string.gsub")
  if type(replacement) ~= "string" then error("string.gsub: the replacement must be a text", 2) end
  local result, changes = gsub(s, pattern, replacement, count)
  return result, changes
end
function text.format(pattern, a, b, c, d, e, f)
  plain(pattern, "string.format") plain(a, "string.format") plain(b, "string.format")
  plain(c, "string.format") plain(d, "string.format") plain(e, "string.format") plain(f, "string.format")
  return format(pattern, a, b, c, d, e, f)
end
getmetatable("").__index = text
getmetatable("").__metatable = false

local numbers = {
  floor = math.floor, ceil = math.ceil, min = math.min, max = math.max,
  abs = math.abs, fmod = math.fmod, huge = math.huge,
}
local lists = {
  insert = table.insert, remove = table.remove, concat = table.concat, sort = sort,
}

------------------------------------------------------------------ the words

local words = {
  now = now, time = time, type = kind, unpack = unpack,
  string = locked("string", text), math = locked("math", numbers), table = locked("table", lists),
}
for name, word in next, host do words[name] = word end
words._bind, words._numbers = nil, nil

function words.tostring(value)
  plain(value, "tostring")
  return tostring(value)
end
function words.tonumber(value, base)
  plain(value, "tonumber")
  return tonumber(value, base)
end
function words.pairs(content)
  return following, table_only(content, "pairs"), nil
end
function words.ipairs(content)
  return element, table_only(content, "ipairs"), 0
end

local bind, redis_number, script_number = host._bind, host._numbers.redis, host._numbers.script
function words.on(node, options)
  if type(node) ~= "number" or node ~= floor(node) or node < 1 then
    error("on(node) takes a server's number, counted from 1", 2)
  end
  local timeout = -1
  if options ~= nil then
    if type(options) ~= "table" then error("on(node, options): options is a table such as {timeout = 50}", 2) end
    for name in next, options do
      if name ~= "timeout" then error(format("on() has no option `%s`; it has `timeout`, in ms", tostring(name)), 2) end
    end
    if options.timeout ~= nil then
      timeout = options.timeout
      if type(timeout) ~= "number" or not (timeout > 0) then error("timeout must be a positive number of ms", 2) end
    end
  end
  return { redis = bind(redis_number, node, timeout), script = bind(script_number, node, timeout) }
end

------------------------------------------------------------ the environment

setmetatable(words, {
  __index = function(_, name)
    local hint = banned[name]
    if hint then error(format("`%s` is not available in a lock file%s", name, hint), 2) end
    error(format("`%s` is not defined; declare it with `local`, or see the list of words in docs/lock-files.md", tostring(name)), 2)
  end,
})
-- Empty, so that every write is seen, to known names too.
local environment = setmetatable({}, {
  __index = words,
  __newindex = function(_, name)
    error(format("`%s` can not be assigned: a lock file has no global variables; write `local %s`, or keep it in `self`", name, name), 2)
  end,
  __metatable = false,
})

return environment, words, time_ms, locked,
  { string = text, math = numbers, table = lists, iterators = { pairs = following, ipairs = element } }
