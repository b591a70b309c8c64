//! Sequences kept by hand, and the table of what tells the dialects apart.

use lockproof_redis::Dialect;

use super::generate::Step;

/// A command whose reply depends on the server.
pub struct Row {
    pub words: &'static [&'static str],
    redis70: &'static str,
    redis82: &'static str,
    valkey9: &'static str,
}

impl Row {
    pub fn reply(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Redis70 => self.redis70,
            Dialect::Redis82 => self.redis82,
            Dialect::Valkey9 => self.valkey9,
        }
    }
}

/// All differences that the model knows, one example each.
pub const DIFFERENCES: &[Row] = &[
    Row {
        words: &["zadd", "z", "incr", "0.1", "m"],
        redis70: "\"0.10000000000000001\"",
        redis82: "\"0.1\"",
        valkey9: "\"0.1\"",
    },
    Row {
        words: &[
            "eval",
            "redis.call('set', 'a', -0.0) return redis.call('get', 'a')",
            "0",
        ],
        redis70: "\"-0\"",
        redis82: "\"0\"",
        valkey9: "\"0\"",
    },
    Row {
        words: &["getex", "missing", "ex", "0"],
        redis70: "nil",
        redis82: "nil",
        valkey9: "-ERR invalid expire time in 'getex' command",
    },
    Row {
        words: &["eval", "return redis.pcall('wait', '0', '0')", "0"],
        redis70: "-ERR This Redis command is not allowed from script",
        redis82: "0",
        valkey9: "0",
    },
    Row {
        words: &["eval", "return redis.pcall('subscribe', 'c')", "0"],
        redis70: "-ERR This Redis command is not allowed from script",
        redis82: "-ERR This Redis command is not allowed from script",
        valkey9: "-ERR This Valkey command is not allowed from script",
    },
    Row {
        words: &["eval", "return redis.pcall('get')", "0"],
        redis70: "-ERR Wrong number of args calling Redis command from script",
        redis82: "-ERR Wrong number of args calling Redis command from script",
        valkey9: "-ERR Wrong number of args calling command from script",
    },
    Row {
        words: &["eval", "return redis.pcall()", "0"],
        redis70: "-ERR Please specify at least one argument for this redis lib call",
        redis82: "-ERR Please specify at least one argument for this redis lib call",
        valkey9: "-ERR Please specify at least one argument for this call",
    },
    Row {
        words: &["eval", "return redis.pcall({})", "0"],
        redis70: "-ERR Lua redis lib command arguments must be strings or integers",
        redis82: "-ERR Lua redis lib command arguments must be strings or integers",
        valkey9: "-ERR Command arguments must be strings or integers",
    },
    Row {
        words: &["eval", "error('x', 0)", "0"],
        redis70: "-ERR x script: a8325ab498c94f38b1b3e86862697a313b6dbe35, on @user_script:1.",
        redis82: "-ERR x script: a8325ab498c94f38b1b3e86862697a313b6dbe35, on @user_script:1.",
        valkey9: "-ERR x script: on @user_script:1.",
    },
    Row {
        words: &[
            "eval",
            "local ok, e = pcall(redis.log, 9, 'x') return e",
            "0",
        ],
        redis70: "\"ERR Invalid debug level.\"",
        redis82: "\"ERR Invalid log level.\"",
        valkey9: "\"ERR Invalid log level.\"",
    },
    Row {
        words: &["eval", "local ok, e = pcall(redis.log) return e", "0"],
        redis70: "\"ERR redis.log() requires two arguments or more.\"",
        redis82: "\"ERR redis.log() requires two arguments or more.\"",
        valkey9: "\"ERR server.log() requires two arguments or more.\"",
    },
    Row {
        words: &["evalsha", "0000000000000000000000000000000000000000", "0"],
        redis70: "-NOSCRIPT No matching script. Please use EVAL.",
        redis82: "-NOSCRIPT No matching script. Please use EVAL.",
        valkey9: "-NOSCRIPT No matching script.",
    },
    Row {
        words: &[
            "eval",
            "redis.call('set', 'a', 'x', 'pxat', '1700000000000') return redis.call('exists', 'a')",
            "0",
        ],
        redis70: "1",
        redis82: "1",
        valkey9: "0",
    },
    Row {
        words: &["zrank", "z", "m", "withscore"],
        redis70: "-ERR wrong number of arguments for 'zrank' command",
        redis82: "nil",
        valkey9: "nil",
    },
    Row {
        words: &["delifeq", "a", "x"],
        redis70: "-ERR unknown command 'delifeq', with args beginning with: 'a' 'x' ",
        redis82: "-ERR unknown command 'delifeq', with args beginning with: 'a' 'x' ",
        valkey9: "0",
    },
    Row {
        words: &["set", "a", "x", "ifeq", "y"],
        redis70: "-ERR syntax error",
        redis82: "-ERR syntax error",
        valkey9: "nil",
    },
];

/// Expressions that the model does not follow, and what it says that they use.
pub const LACKING: &[(&str, &str)] = &[
    ("redis.call('nonsense')", "the command NONSENSE"),
    (
        "redis.pcall('APP' .. 'END', 'a', 'x')",
        "the command APPEND",
    ),
    (
        "redis.call(string.lower('StrLen'), 'a')",
        "the command STRLEN",
    ),
    ("math.random(3)", "math.random"),
    ("math.randomseed(3)", "math.randomseed"),
    ("os.clock()", "os"),
    ("coroutine.create(print)", "coroutines"),
    ("loadstring('return 1')()", "loadstring"),
    ("collectgarbage('count')", "collectgarbage"),
    ("string.dump(error)", "string.dump"),
    ("redis.REDIS_VERSION_NUM", "REDIS_VERSION_NUM"),
    ("redis.breakpoint()", "breakpoint"),
    ("redis.setresp(3)", "RESP3"),
    ("cjson.encode_max_depth(3)", "settings of cjson"),
    ("cmsgpack.unpack_one('a')", "unpack_one"),
];

/// The sequences of `corpus.txt`.
pub fn sequences() -> Vec<Vec<Step>> {
    include_str!("corpus.txt")
        .split("\n\n")
        .map(|block| {
            let lines = block.lines().filter(|line| !line.starts_with('#'));
            lines.filter(|line| !line.is_empty()).map(step).collect()
        })
        .filter(|steps: &Vec<Step>| !steps.is_empty())
        .collect()
}

/// One line: `@ms` sets the clock, `!1` or `!0` asks for a replica, `>` is the
/// subscriber's, else a command.
fn step(line: &str) -> Step {
    if let Some(ms) = line.strip_prefix('@') {
        return Step::Clock(ms.parse().expect("@ is followed by ms"));
    }
    if let Some(asks) = line.strip_prefix('!') {
        return Step::AsksForReplica(asks == "1");
    }
    match line.strip_prefix('>') {
        Some(rest) => Step::Subscriber(words(rest.trim())),
        None => Step::Command(words(line)),
    }
}

/// Words separated by spaces; within double quotes a space is one, and `\n` a
/// line end.
fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.replace("\\n", "\n").into_bytes());
        } else {
            words.extend(part.split_whitespace().map(|word| word.as_bytes().to_vec()));
        }
    }
    words
}
