//! Scripts that run on servers.

use super::{Draft, Shape, Source};

pub fn add(draft: &mut Draft, name: &str, text: String) {
    if !draft.scripts.iter().any(|(known, _)| known == name) {
        draft.scripts.push((name.into(), text));
    }
}

/// Compares and deletes: KEYS[1], and ARGV[1] as it was written.
pub fn release(source: &mut Source, draft: &mut Draft) {
    if draft.scripts.iter().any(|(known, _)| known == "release") {
        return;
    }
    let text = match draft.shape {
        Shape::Text => text_release(source),
        Shape::Hash => hash_release(source),
        Shape::List => match source.pick(2) {
            0 => "return redis.call('lrem', KEYS[1], 0, ARGV[1])".into(),
            _ => "if redis.call('lindex', KEYS[1], 0) == ARGV[1] then\n\
                  redis.call('lpop', KEYS[1])\n\
                  return 1\n\
                  end\n\
                  return 0"
                .into(),
        },
        Shape::Sorted => match source.pick(2) {
            0 => "return redis.call('zrem', KEYS[1], ARGV[1])".into(),
            _ => "if redis.call('zscore', KEYS[1], ARGV[1]) then\n\
                  return redis.call('zrem', KEYS[1], ARGV[1])\n\
                  end\n\
                  return 0"
                .into(),
        },
    };
    add(draft, "release", text);
}

fn text_release(source: &mut Source) -> String {
    match source.weighted(&[10, 2, 1, 1, 1, 1, 1, 1]) {
        0 => "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end\n\
              return 0"
            .into(),
        1 => "local value = redis.call('get', KEYS[1])\n\
              if value == ARGV[1] then\n\
              redis.call('del', KEYS[1])\n\
              return 1\n\
              end\n\
              if not value then return 0 end\n\
              return 0"
            .into(),
        2 => "local box = cjson.encode({ v = ARGV[1] })\n\
              local back = cjson.decode(box)\n\
              if redis.call('get', KEYS[1]) == back.v then return redis.call('del', KEYS[1]) end\n\
              return 0"
            .into(),
        3 => "if redis.sha1hex(redis.call('get', KEYS[1]) or '') == redis.sha1hex(ARGV[1]) then\n\
              return redis.call('del', KEYS[1])\n\
              end\n\
              return 0"
            .into(),
        4 => "local left = redis.call('pttl', KEYS[1])\n\
              if redis.call('get', KEYS[1]) == ARGV[1] and left > 0 then\n\
              return redis.call('del', KEYS[1])\n\
              end\n\
              return 0"
            .into(),
        5 => "if redis.call('get', KEYS[1]) == ARGV[1] then\n\
              return redis.call('pexpire', KEYS[1], 0)\n\
              end\n\
              return 0"
            .into(),
        6 => "if bit.band(redis.call('exists', KEYS[1]), 1) == 1 then\n\
              return redis.call('del', KEYS[1])\n\
              end\n\
              return 0"
            .into(),
        _ => "local ok = redis.pcall('get', KEYS[1])\n\
              if type(ok) == 'table' and ok.err then return redis.error_reply(ok.err) end\n\
              if ok == ARGV[1] then redis.call('del', KEYS[1]) return redis.status_reply('OK') end\n\
              return 0"
            .into(),
    }
}

fn hash_release(source: &mut Source) -> String {
    match source.weighted(&[5, 2, 2]) {
        0 => "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end\n\
              if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 2 end\n\
              redis.call('del', KEYS[1])\n\
              return 1"
            .into(),
        1 => "return redis.call('hdel', KEYS[1], ARGV[1])".into(),
        _ => "if redis.call('hget', KEYS[1], ARGV[1]) then\n\
              redis.call('del', KEYS[1])\n\
              return 1\n\
              end\n\
              return 0"
            .into(),
    }
}

/// Takes the lock in one step: KEYS[1], the value, the lease in ms.
pub fn take(source: &mut Source, draft: &mut Draft) {
    let text = match draft.shape {
        Shape::Text => text_take(source),
        Shape::Hash => hash_take(source),
        Shape::List => list_take(source),
        Shape::Sorted => sorted_take(source),
    };
    add(draft, "take", text);
}

fn text_take(source: &mut Source) -> String {
    match source.weighted(&[6, 2, 2, 1, 1, 1]) {
        0 => "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end\n\
              return 0"
            .into(),
        1 => "if redis.call('exists', KEYS[1]) == 1 then return 0 end\n\
              redis.call('psetex', KEYS[1], ARGV[2], ARGV[1])\n\
              return 1"
            .into(),
        2 => "if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              return 1\n\
              end\n\
              if redis.call('pttl', KEYS[1]) == -1 then redis.call('pexpire', KEYS[1], ARGV[2]) end\n\
              return 0"
            .into(),
        3 => "local left = redis.call('pttl', KEYS[1])\n\
              if left > 1000 then return 0 end\n\
              redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])\n\
              return 1"
            .into(),
        4 => "local old = redis.call('get', KEYS[1])\n\
              if old and old < ARGV[1] then return 0 end\n\
              redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])\n\
              return 1"
            .into(),
        _ => "local t = redis.call('time')\n\
              if redis.call('exists', KEYS[1]) == 1 then return 0 end\n\
              redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2] + 0 * t[1])\n\
              return 1"
            .into(),
    }
}

fn hash_take(source: &mut Source) -> String {
    let mut text = String::from(
        "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n\
         redis.call('hincrby', KEYS[1], ARGV[1], 1)\n\
         redis.call('pexpire', KEYS[1], ARGV[2])\n\
         return 1\n\
         end\n\
         return 0",
    );
    match source.weighted(&[6, 1, 1, 1]) {
        1 => {
            text = "if redis.call('hlen', KEYS[1]) > 0 then return 0 end\n\
                    redis.call('hset', KEYS[1], ARGV[1], 1)\n\
                    redis.call('pexpire', KEYS[1], ARGV[2])\n\
                    return 1"
                .into();
        }
        2 => {
            text = "local all = redis.call('hkeys', KEYS[1])\n\
                    if #all > 0 and all[1] ~= ARGV[1] then return 0 end\n\
                    redis.call('hincrby', KEYS[1], ARGV[1], 1)\n\
                    redis.call('pexpire', KEYS[1], ARGV[2])\n\
                    return 1"
                .into();
        }
        3 => {
            text = "if redis.call('hlen', KEYS[1]) >= 2 then return 0 end\n\
                    redis.call('hset', KEYS[1], ARGV[1], 1)\n\
                    redis.call('pexpire', KEYS[1], ARGV[2])\n\
                    return 1"
                .into();
        }
        _ => {}
    }
    text
}

fn list_take(source: &mut Source) -> String {
    match source.weighted(&[4, 3, 2, 1]) {
        0 => "if redis.call('llen', KEYS[1]) > 0 then return 0 end\n\
              redis.call('rpush', KEYS[1], ARGV[1])\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              return 1"
            .into(),
        1 => "if redis.call('rpush', KEYS[1], ARGV[1]) == 1 then\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              return 1\n\
              end\n\
              redis.call('lrem', KEYS[1], 0, ARGV[1])\n\
              return 0"
            .into(),
        2 => "local waiting = false\n\
              for _, one in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do\n\
              if one == ARGV[1] then waiting = true end\n\
              end\n\
              if not waiting then redis.call('rpush', KEYS[1], ARGV[1]) end\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              if redis.call('lindex', KEYS[1], 0) == ARGV[1] then return 1 end\n\
              return 0"
            .into(),
        _ => "redis.call('lpush', KEYS[1], ARGV[1])\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              if redis.call('lindex', KEYS[1], -1) == ARGV[1] then return 1 end\n\
              redis.call('lrem', KEYS[1], 1, ARGV[1])\n\
              return 0"
            .into(),
    }
}

fn sorted_take(source: &mut Source) -> String {
    match source.weighted(&[4, 2, 1]) {
        0 => "redis.call('zadd', KEYS[1], 'NX', 1, ARGV[1])\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              if redis.call('zcard', KEYS[1]) == 1 then return 1 end\n\
              redis.call('zrem', KEYS[1], ARGV[1])\n\
              return 0"
            .into(),
        1 => "if redis.call('zcard', KEYS[1]) > 0 then return 0 end\n\
              redis.call('zadd', KEYS[1], 1, ARGV[1])\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              return 1"
            .into(),
        _ => "redis.call('zadd', KEYS[1], 1, ARGV[1])\n\
              redis.call('pexpire', KEYS[1], ARGV[2])\n\
              if redis.call('zrank', KEYS[1], ARGV[1]) == 0 then return 1 end\n\
              redis.call('zrem', KEYS[1], ARGV[1])\n\
              return 0"
            .into(),
    }
}

/// Prolongs the lease: KEYS[1], the value, the lease in ms.
pub fn extend(source: &mut Source, draft: &mut Draft) {
    let text = match draft.shape {
        Shape::Text => match source.weighted(&[6, 1, 1]) {
            0 => "if redis.call('get', KEYS[1]) == ARGV[1] then\n\
                  return redis.call('pexpire', KEYS[1], ARGV[2])\n\
                  end\n\
                  return 0"
                .into(),
            1 => "return redis.call('pexpire', KEYS[1], ARGV[2])".into(),
            _ => "redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])\n\
                  return 1"
                .into(),
        },
        Shape::Hash => "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n\
                        return redis.call('pexpire', KEYS[1], ARGV[2])\n\
                        end\n\
                        return 0"
            .into(),
        Shape::List | Shape::Sorted => "return redis.call('pexpire', KEYS[1], ARGV[2])".into(),
    };
    add(draft, "extend", text);
}
