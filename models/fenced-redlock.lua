-- Redlock (https://redis.io/topics/distlock) whose servers each keep a counter, as `fenced` has
-- one. The fence is the highest value among those that agreed. This is what
-- https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html warns of: "keeping
-- counters on several nodes would mean they would go out of sync".
local function fence_of(lock)
  return "{" .. lock.key .. "}:fence"
end

local function unlock_all(lock)
  local released = 0
  for _, node in ipairs(lock.nodes) do
    local server = on(node, { timeout = lock.params.node_timeout })
    if server.script("release_if_owner", { lock.key }, { lock.token }) == 1 then
      released = released + 1
    end
  end
  return released
end

-- Asks one server after the other. How many agreed, and the highest fence that one has drawn.
local function ask_all(lock, ask)
  local votes, fence = 0, nil
  for _, node in ipairs(lock.nodes) do
    local agrees, drawn = ask(on(node, { timeout = lock.params.node_timeout }))
    if agrees then votes = votes + 1 end
    if drawn then fence = fence and math.max(fence, drawn) or drawn end
  end
  return votes, fence
end

-- Both scripts answer a fence, or 0.
local function draw(lock, server, name, args)
  local drawn, err = server.script(name, { lock.key, fence_of(lock) }, args)
  if err or drawn == 0 then return false end
  return true, drawn
end

return {
  name = "fenced-redlock",
  description = "redlock; each server that agrees draws from its counter, the highest is the fence",
  nodes = 3,
  scripts = {
    "fenced_lock",
    "release_if_owner",
    draw = [[
      if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
      return redis.call('incr', KEYS[2])
    ]],
  },
  keys = { lock = "{key}", fence = "{{key}}:fence" },
  params = {
    node_timeout = { default = 50, check = 1000 }, -- ms, as redlock has it
    -- 0: servers draw in a second round, and only for who has enough of them.
    one_script = 1,
    -- 1: all servers have to agree, and not only more than half of them.
    all_servers = 0,
  },

  acquire = function(lock)
    local started = now()
    local needed = lock.params.all_servers == 1 and #lock.nodes or math.floor(#lock.nodes / 2) + 1
    local votes, fence = ask_all(lock, function(server)
      if lock.params.one_script == 1 then
        return draw(lock, server, "fenced_lock", { lock.token, lock.ttl })
      end
      return server.redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) ~= nil
    end)
    if votes >= needed and lock.params.one_script == 0 then
      votes, fence = ask_all(lock, function(server)
        return draw(lock, server, "draw", { lock.token })
      end)
    end
    local validity = lock.ttl - (now() - started)
    if votes >= needed and validity > 0 then return held { validity = validity, fence = fence } end
    unlock_all(lock)
    if votes >= needed then return failed("the lease ran out meanwhile") end
    return busy()
  end,

  release = function(lock)
    return unlock_all(lock) > #lock.nodes / 2
  end,

  about = {
    works = [[Redlock, and the script that sets the key on a server also increments a counter there and
      answers its value. Who has a majority takes the highest of these values as its fence.]],
    claims = [[Redlock has no fencing tokens. This is the obvious way to add them, of which an article says
      that counters on several servers would go out of sync.]],
    repair = [[Two majorities share a server, but the highest value of the first may have come from another
      one, which counted attempts that failed. So let servers draw only for who has the lock already
      (one_script = 0) on all servers (all_servers = 1), which gives up what a majority is for. Or
      draw the fence where the guarded resource is, or from servers that agree on it (consensus).]],
  },
}
