-- The world that a script sees. Built once for each engine, over stock Lua 5.1.
--
-- Redis patches its Lua so that tables can be read-only; here a script sees
-- empty proxies in front of the real tables instead. And since scripts come
-- from users' files, whatever could run for long inside one C function (where
-- no instruction is counted) first passes `native.charge` or `native.patterns`.

local native = ...
local error, next, pcall, xpcall = error, next, pcall, xpcall
local rawget, rawset, setmetatable = rawget, rawset, setmetatable
local tostring, type, select = tostring, type, select
local stock_string, stock_table = string, table

local SCRIPT_LEVEL = 2 -- the function that called us: the script's own line

-- Read-only tables ----------------------------------------------------------

local proxies = {}

local function refuse()
  error("Attempt to modify a readonly table", SCRIPT_LEVEL)
end

local function read_only(inner)
  local proxy = setmetatable({}, {__index = inner, __newindex = refuse, __metatable = false})
  proxies[proxy] = true
  return proxy
end

-- table.insert and the like reach a proxy's own slots; what a script leaves
-- there must not be seen by the next one.
local function scrub()
  for proxy in next, proxies do
    while true do
      local key = next(proxy)
      if key == nil then break end
      rawset(proxy, key, nil)
    end
  end
end

-- Catching ------------------------------------------------------------------

-- Once the budget is spent nothing may be caught, or a script could go on for
-- ever inside pcall. Redis's own errors travel as native values and become
-- tables, or for pcall strings, where a script can see them.
local function settle(ok, err, ...)
  native.go_on()
  if ok then return true, err, ... end
  err = native.visible(err)
  if type(err) == "table" then
    local text = rawget(err, "err")
    if type(text) == "string" then return false, text end
  end
  return false, err
end

local function settle_handled(...)
  native.go_on()
  return ...
end

-- Functions that can take long ------------------------------------------------

local function with_pattern(stock)
  return function(subject, pattern, ...)
    native.patterns(subject, pattern)
    return stock(subject, pattern, ...)
  end
end

local stock_find, stock_rep, stock_sort = stock_string.find, stock_string.rep, stock_table.sort
local stock_getn = stock_table.getn

stock_string.match = with_pattern(stock_string.match)
stock_string.gmatch = with_pattern(stock_string.gmatch)
stock_string.gsub = with_pattern(stock_string.gsub)
stock_string.gfind = nil
stock_string.dump = nil

function stock_string.find(subject, pattern, init, plain)
  if not plain then native.patterns(subject, pattern) end
  return stock_find(subject, pattern, init, plain)
end

function stock_string.rep(text, count)
  if type(count) == "number" then native.charge(count) end
  return stock_rep(text, count)
end

function stock_table.sort(list, less)
  if type(list) == "table" then
    local n = stock_getn(list)
    native.charge(n * 20)
  end
  return stock_sort(list, less)
end

local function not_modelled(name)
  return function()
    error("lockproof does not model " .. name .. ": its result depends on what ran before", SCRIPT_LEVEL)
  end
end

math.random = not_modelled("math.random")
math.randomseed = not_modelled("math.randomseed")

-- The redis table -------------------------------------------------------------

local redis = {
  call = native.call,
  pcall = native.pcall,
  sha1hex = native.sha1hex,
  error_reply = native.error_reply,
  status_reply = native.status_reply,
  log = native.log,
  setresp = native.setresp,
  replicate_commands = function() return true end,
  set_repl = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_NONE = 0, REPL_AOF = 1, REPL_SLAVE = 2, REPL_REPLICA = 2, REPL_ALL = 3,
}

-- Globals -----------------------------------------------------------------------

local left_out = {
  bit = true, cjson = true, cmsgpack = true, collectgarbage = true, coroutine = true, gcinfo = true,
  load = true, loadstring = true, newproxy = true, os = true, server = true, struct = true,
}

local function undeclared(_, name)
  if left_out[name] then
    error("lockproof does not model the Lua global '" .. name
      .. "'; rewrite the script without it", SCRIPT_LEVEL)
  end
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'",
    SCRIPT_LEVEL)
end

local globals = setmetatable({
  _VERSION = _VERSION,
  assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next,
  pairs = pairs, rawequal = rawequal, rawget = rawget, select = select,
  setmetatable = setmetatable, -- a proxy's own is protected
  tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
  math = read_only(math), string = read_only(stock_string), table = read_only(stock_table),
  redis = read_only(redis),
}, {__index = undeclared})

function globals.pcall(...)
  return settle(pcall(...))
end

function globals.xpcall(body, handler)
  local function handle(err)
    return handler(native.visible(err))
  end
  return settle_handled(xpcall(body, handle))
end

function globals.rawset(target, key, value)
  if proxies[target] then error("Attempt to modify a readonly table", 0) end
  return rawset(target, key, value)
end

local environment = read_only(globals)
globals._G = environment
-- Strings share one metatable; its `__index` would be a way to the real table.
getmetatable("").__metatable = false

-- Running -------------------------------------------------------------------------

-- Runs one script; `native.mark` notes the line at which an error was raised.
local function run(body, keys, args)
  globals.KEYS, globals.ARGV = keys, args
  return xpcall(body, native.mark)
end

return environment, run, scrub
