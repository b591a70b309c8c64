//! Claims about the model that need no server; the texts and numbers in them
//! were read off a Redis 7.0.15.

use super::*;

/// A server, an engine and commands written as words.
struct Bench {
    server: Server,
    engine: ScriptEngine,
}

impl Bench {
    fn new() -> Self {
        Self {
            server: Server::new(1_000_000),
            engine: ScriptEngine::new().unwrap(),
        }
    }

    /// Executes words separated by spaces.
    fn run(&mut self, line: &str) -> String {
        self.words(&line.split(' ').collect::<Vec<_>>())
    }

    fn words(&mut self, words: &[&str]) -> String {
        let argv: Vec<Bytes> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        show(&self.server.execute(&mut self.engine, 1, &argv))
    }

    fn eval(&mut self, script: &str) -> String {
        self.words(&["eval", script, "1", "k", "v"])
    }
}

/// One line a reply, as the redis-cli of one's dreams would print it.
fn show(reply: &Reply) -> String {
    match reply {
        Reply::Nil => "nil".to_owned(),
        Reply::Status(text) => format!("+{text}"),
        Reply::Error(line) => format!("-{line}"),
        Reply::Int(value) => value.to_string(),
        Reply::Bulk(text) => format!("{:?}", String::from_utf8_lossy(text)),
        Reply::Array(items) => {
            let items: Vec<_> = items.iter().map(show).collect();
            format!("[{}]", items.join(" "))
        }
    }
}

#[test]
fn a_key_is_there_in_the_ms_it_expires_at_and_gone_in_the_next() {
    let mut bench = Bench::new();
    bench.run("set k v px 10");
    bench.server.advance(10);
    assert_eq!(bench.run("pttl k"), "0");
    assert_eq!(bench.run("get k"), "\"v\"");
    bench.server.advance(1);
    assert_eq!(bench.run("get k"), "nil");
    bench.server.advance(-11);
    assert_eq!(bench.run("get k"), "nil", "a key that is gone stays gone");
}

#[test]
fn set_options() {
    let mut bench = Bench::new();
    assert_eq!(bench.run("set k a nx px 100"), "+OK");
    assert_eq!(bench.run("set k b nx"), "nil");
    assert_eq!(bench.run("set k b nx get"), "\"a\"");
    assert_eq!(bench.run("set k b xx keepttl"), "+OK");
    assert_eq!(bench.run("pttl k"), "100");
    assert_eq!(bench.run("set k b get"), "\"b\"");
    assert_eq!(bench.run("pttl k"), "-1");
    assert_eq!(bench.run("set k b ex 1 ex 2"), "+OK");
    assert_eq!(bench.run("ttl k"), "2");
    for clash in ["nx xx", "ex 1 px 1", "keepttl ex 1", "ex", "ifeq b", "x"] {
        assert_eq!(bench.run(&format!("set k c {clash}")), "-ERR syntax error");
    }
    for bad in [
        "ex 0",
        "px -1",
        "ex 9223372036854775807",
        "px 9223372036854775807",
    ] {
        assert_eq!(
            bench.run(&format!("set k c {bad}")),
            "-ERR invalid expire time in 'set' command"
        );
    }
}

#[test]
fn expire_conditions() {
    let mut bench = Bench::new();
    bench.run("set k v");
    assert_eq!(bench.run("pexpire k 50 gt"), "0");
    assert_eq!(bench.run("pexpire k 50 lt"), "1");
    assert_eq!(bench.run("pexpire k 50 nx"), "0");
    assert_eq!(bench.run("pexpire k 60 gt"), "1");
    assert_eq!(bench.run("persist k"), "1");
    assert_eq!(bench.run("persist k"), "0");
    assert_eq!(bench.run("pexpire k 60 xx"), "0");
    assert_eq!(bench.run("expire k 0"), "1");
    assert_eq!(bench.run("exists k"), "0");
    assert_eq!(bench.run("expire k x y"), "-ERR Unsupported option y");
}

#[test]
fn a_collection_that_becomes_empty_is_no_key() {
    let mut bench = Bench::new();
    bench.run("hset h f 1");
    assert_eq!(bench.run("hdel h f g"), "1");
    bench.run("rpush l a");
    assert_eq!(bench.run("lpop l 0"), "[]");
    assert_eq!(bench.run("lpop l 5"), "[\"a\"]");
    bench.run("zadd z 1 m");
    assert_eq!(bench.run("zrem z m"), "1");
    assert_eq!(
        bench.run("hincrby h f x"),
        "-ERR value is not an integer or out of range"
    );
    assert_eq!(bench.server.entries().count(), 0);
}

#[test]
fn the_wrong_type_is_refused_whatever_the_command() {
    let mut bench = Bench::new();
    bench.run("set s v");
    bench.run("rpush l v");
    for line in [
        "hget s f",
        "lpush s v",
        "zadd s 1 m",
        "get l",
        "incr l",
        "set l v get",
    ] {
        assert_eq!(
            bench.run(line),
            "-WRONGTYPE Operation against a key holding the wrong kind of value",
            "{line}"
        );
    }
}

#[test]
fn lists_ranges_and_removals() {
    let mut bench = Bench::new();
    bench.run("rpush l a b a c a");
    assert_eq!(bench.run("lrange l -3 -1"), "[\"a\" \"c\" \"a\"]");
    assert_eq!(bench.run("lrange l 3 1"), "[]");
    assert_eq!(bench.run("lrem l -2 a"), "2");
    assert_eq!(bench.run("lrange l 0 -1"), "[\"a\" \"b\" \"c\"]");
    assert_eq!(bench.run("lindex l -1"), "\"c\"");
    assert_eq!(bench.run("lindex none x"), "nil");
}

#[test]
fn sorted_sets_rank_and_range() {
    let mut bench = Bench::new();
    assert_eq!(bench.run("zadd z 2 b 1 a 2 c"), "3");
    assert_eq!(bench.run("zadd z ch gt 1 b 3 c"), "1");
    assert_eq!(
        bench.run("zrange z 0 -1 withscores"),
        "[\"a\" \"1\" \"b\" \"2\" \"c\" \"3\"]"
    );
    assert_eq!(bench.run("zrangebyscore z (1 +inf limit 1 1"), "[\"c\"]");
    assert_eq!(bench.run("zrank z c"), "2");
    assert_eq!(bench.run("zincrby z 0.1 a"), "\"1.1000000000000001\"");
    assert_eq!(
        bench.run("zadd z incr 1 a 1 b"),
        "-ERR INCR option supports a single increment-element pair"
    );
}

#[test]
fn a_subscriber_gets_messages_and_may_do_little_else() {
    let mut bench = Bench::new();
    assert_eq!(bench.run("subscribe c"), "[\"subscribe\" \"c\" 1]");
    assert!(bench.run("get k").starts_with("-ERR Can't execute 'get'"));
    assert_eq!(bench.run("ping"), "[\"pong\" \"\"]");
    let publish = [b"publish".to_vec(), b"c".to_vec(), b"m".to_vec()];
    let reply = bench.server.execute(&mut bench.engine, 2, &publish);
    assert_eq!(reply, Reply::Int(1));
    assert_eq!(
        bench.server.take_messages(),
        [Published {
            connection: 1,
            channel: b"c".to_vec(),
            payload: b"m".to_vec()
        }]
    );
    assert_eq!(bench.run("unsubscribe"), "[\"unsubscribe\" \"c\" 0]");
    assert_eq!(bench.run("unsubscribe"), "[\"unsubscribe\" nil 0]");
}

#[test]
fn evalsha_needs_the_script_to_be_known() {
    let mut bench = Bench::new();
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    let missing = "-NOSCRIPT No matching script. Please use EVAL.";
    assert_eq!(bench.run(&format!("evalsha {sha} 0")), missing);
    assert_eq!(
        bench.words(&["script", "load", "return 1"]),
        format!("{sha:?}")
    );
    assert_eq!(bench.run(&format!("evalsha {} 0", sha.to_uppercase())), "1");
    assert_eq!(bench.run("script flush"), "+OK");
    assert_eq!(bench.run(&format!("evalsha {sha} 0")), missing);
    assert_eq!(bench.words(&["eval", "return 1", "0"]), "1");
    assert_eq!(bench.run(&format!("script exists {sha} x")), "[1 0]");
}

#[test]
fn replies_are_converted_as_redis_converts_them() {
    let mut bench = Bench::new();
    for (script, reply) in [
        ("return {KEYS[1], ARGV[1], #KEYS}", "[\"k\" \"v\" 1]"),
        ("return redis.call('get', 'none')", "nil"),
        ("return redis.call('get', 'none') == nil", "nil"),
        ("return redis.call('get', 'none') == false", "1"),
        ("return {1, 2, nil, 3}", "[1 2]"),
        (
            "return {3.9, -3.9, 0/0, 1e30, true, false}",
            "[3 -3 -9223372036854775808 -9223372036854775808 1 nil]",
        ),
        ("return {err='My Err'}", "-My Err"),
        ("return redis.error_reply('boo')", "-ERR boo"),
        ("return redis.error_reply('-boo x')", "-boo x"),
        ("return redis.status_reply('fine')", "+fine"),
        ("return redis.call('set', KEYS[1], 0.1)", "+OK"),
        (
            "return redis.call('get', KEYS[1])",
            "\"0.10000000000000001\"",
        ),
        (
            "return redis.sha1hex('')",
            "\"da39a3ee5e6b4b0d3255bfef95601890afd80709\"",
        ),
        (
            "local ok, e = pcall(redis.call, 'incr', KEYS[1]) return {type(e), e}",
            "[\"string\" \"ERR value is not an integer or out of range\"]",
        ),
        (
            "local e = redis.pcall('incr', KEYS[1]) return {type(e), e}",
            "[\"table\" -ERR value is not an integer or out of range]",
        ),
        ("return {double=0.5}", "\"0.5\""),
        (
            "local ok, e = xpcall(function() redis.call('incr', KEYS[1]) end, function(e) return e.err end) return e",
            "\"ERR value is not an integer or out of range\"",
        ),
    ] {
        assert_eq!(bench.eval(script), reply, "{script}");
    }
}

#[test]
fn what_a_script_raises_names_the_script_and_the_line() {
    let mut bench = Bench::new();
    bench.run("set s v");
    for (script, reply) in [
        (
            "return redis.call('incr', 's')",
            "-ERR value is not an integer or out of range script: 70abbef89e172316f9219e67e313f248a5b98d9b, on @user_script:1.",
        ),
        (
            "return nil+1",
            "-ERR user_script:1: attempt to perform arithmetic on a nil value script: 06da94268985d443d9a2d8145ac0234e4f02562c, on @user_script:1.",
        ),
        (
            "return foo",
            "-ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: 47e30a5d10d5694f99208f9adc4fe3bf2450edbd, on @user_script:1.",
        ),
        (
            "foo=1",
            "-ERR user_script:1: Attempt to modify a readonly table script: 5bddd8336e5f711bfa499383fc73c17560c6250b, on @user_script:1.",
        ),
        (
            "rawset(_G,\"foo\",1)",
            "-ERR Attempt to modify a readonly table script: 57e5b7e82b5b43035aec670daa25b649d30a49af, on @user_script:1.",
        ),
        (
            "error({err=\"My Err\"})",
            "-My Err script: 56aa972d4f3ae98fd97e1f604292812bf6c303ee, on @user_script:1.",
        ),
        (
            "error(\"boom\",0)",
            "-ERR boom script: 36720bde7e0be14e957abc6d85db0ad60e04dd48, on @user_script:1.",
        ),
        (
            "return redis.call()",
            "-ERR Please specify at least one argument for this redis lib call script: 0a907e1429221a4d85516cab7fd219a82a9439d8, on @user_script:1.",
        ),
        (
            "return x x",
            "-ERR Error compiling script (new function): user_script:1: '<eof>' expected near 'x'",
        ),
    ] {
        assert_eq!(bench.eval(script), reply, "{script}");
    }
    assert!(
        bench
            .eval("\n\nreturn nil+1")
            .ends_with("on @user_script:3.")
    );
}

#[test]
fn commands_that_redis_refuses_in_scripts_are_refused() {
    let mut bench = Bench::new();
    for command in ["subscribe", "eval", "script", "wait"] {
        let reply = bench.eval(&format!("return redis.pcall('{command}', 'a', 'b')"));
        let known = [
            "-ERR This Redis command is not allowed from script",
            "-ERR Wrong number of args calling Redis command from script",
        ];
        assert!(known.contains(&reply.as_str()), "{command}: {reply}");
    }
}

#[test]
fn a_script_cannot_hang_or_fill_memory() {
    let mut bench = Bench::new();
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "local function f() return xpcall(error, f) end while true do f() end",
        "local s = 'x' while true do s = s .. s if #s > 1000000 then s = 'x' end end",
        "return ('x'):rep(1e9)",
        "local s = ('a'):rep(50000) while true do s:upper() end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 1e5 do t[i] = -i end while true do table.sort(t) end",
        "return string.find(('a'):rep(100000), ('a-'):rep(10) .. 'b')",
        "return string.gsub(('a'):rep(5000), '.-.-.-b', '')",
        "return (''):match(('.-'):rep(100000))",
        "local t = {} for i = 1, 60 do t = {t, t} end return t",
        "local t = {} t[1] = t return t",
        "local function f() return f() + 1 end return f()",
    ] {
        let reply = bench.eval(script);
        assert!(reply.contains("-ERR"), "{script}: {reply}");
    }
    assert_eq!(bench.eval("return 1"), "1", "the engine still works");
}

#[test]
fn ordinary_patterns_are_allowed() {
    let mut bench = Bench::new();
    let script = "local uuid, at = string.match('6a1f7c1e-8f0a-4b7e:1700000000123', '^(.-):(%d+)$') return {uuid, at}";
    assert_eq!(
        bench.eval(script),
        "[\"6a1f7c1e-8f0a-4b7e\" \"1700000000123\"]"
    );
    assert_eq!(
        bench.eval("return (('a,b,c'):gsub(',%s*', ';'))"),
        "\"a;b;c\""
    );
}

#[test]
fn a_script_leaves_nothing_behind_for_the_next() {
    let mut bench = Bench::new();
    for script in [
        "KEYS.x = 1",
        "table.insert(_G, 5)",
        "table.insert(string, 5)",
        "pcall(rawset, _G, 'x', 1)",
        "pcall(function() string.x = 1 end)",
        "pcall(setmetatable, _G, nil)",
        "table.insert(redis, 'x')",
    ] {
        bench.eval(script);
        let probe = "return {#_G, #string, #redis, KEYS.x or 0, string.x or 0, (pcall(function() return x end))}";
        assert_eq!(bench.eval(probe), "[0 0 0 0 0 nil]", "{script}");
    }
}

#[test]
fn an_engine_that_has_run_much_answers_like_a_new_one() {
    let mut bench = Bench::new();
    for index in 0..1_000 {
        let script = format!("return {{{index}, redis.call('incr', KEYS[1])}}");
        assert_eq!(bench.eval(&script), format!("[{index} {}]", index + 1));
    }
}

#[test]
fn a_server_rebuilt_from_its_entries_is_the_same_server() {
    let mut bench = Bench::new();
    for line in ["set s v px 10", "hset h f v", "rpush l a b", "zadd z 1.5 m"] {
        bench.run(line);
    }
    let mut copy = Server::new(bench.server.now_ms());
    for (key, value, when) in bench.server.entries() {
        copy.insert(key.clone(), value.clone(), when);
    }
    assert_eq!(copy, bench.server);
}

#[test]
fn valkey_has_delifeq_and_set_ifeq() {
    let mut bench = Bench::new();
    assert!(
        bench
            .run("delifeq k v")
            .starts_with("-ERR unknown command 'delifeq'")
    );
    bench.server = Server::new(0).with_dialect(Dialect::Valkey9);
    bench.run("set k a");
    assert_eq!(bench.run("set k b ifeq x"), "nil");
    assert_eq!(bench.run("delifeq k x"), "0");
    assert_eq!(bench.run("set k b ifeq a"), "+OK");
    assert_eq!(bench.run("delifeq k b"), "1");
    assert_eq!(bench.run("exists k"), "0");
}

/// A server of a model, whose clock shows one tick more than its present.
fn of_a_model() -> Bench {
    let scale = lockproof_lua::Scale {
        tick_ms: 1000,
        step_ms: 1001,
        horizon_ms: 60_000,
    };
    let mut bench = Bench::new();
    bench.server = Server::new(1_001_001);
    bench.server.set_scale(scale, 1_000_000);
    bench
}

/// A stamp that lies so many ms and ticks after the present.
fn stamp(ms: i64, ticks: i32) -> Bytes {
    use lockproof_lua::text::{Reading, Span, Symbol};
    Symbol::Time(Span { ms, ticks }, Reading::kept(0)).text()
}

fn command(bench: &mut Bench, words: &[&[u8]]) -> Reply {
    let argv: Vec<Bytes> = words.iter().map(|word| word.to_vec()).collect();
    bench.server.execute(&mut bench.engine, 0, &argv)
}

#[test]
fn times_are_scores_in_the_order_of_their_moments() {
    let mut bench = of_a_model();
    let (old, new) = (stamp(0, -3), stamp(3000, -2));
    command(
        &mut bench,
        &[b"zadd", b"z", &new, b"late", &old, b"early", b"7", b"plain"],
    );
    let all = ["plain", "early", "late"].map(|member| Reply::Bulk(member.into()));
    assert_eq!(
        command(&mut bench, &[b"zrange", b"z", b"0", b"-1"]),
        Reply::Array(all.into())
    );
    let bound = stamp(0, 0);
    assert_eq!(
        command(&mut bench, &[b"zremrangebyscore", b"z", b"8", &bound]),
        Reply::Int(1)
    );
    assert_eq!(
        command(&mut bench, &[b"zincrby", b"z", b"-500", b"late"]),
        Reply::Bulk(stamp(2500, -2))
    );
    let notes = bench.server.take_notes();
    assert_eq!((notes.refusal, notes.opened), (None, 0));
}

#[test]
fn scores_of_one_moment_lie_in_either_order() {
    for answers in [0, 1] {
        let mut bench = of_a_model();
        bench.server.set_answers(answers);
        let now = stamp(0, 0);
        let member = |who| {
            lockproof_lua::text::Symbol::Name(lockproof_lua::text::Name {
                kind: lockproof_lua::text::NameKind::Token,
                who,
                mark: 0,
            })
        };
        let (a, b) = (member(b'A').text(), member(b'B').text());
        command(&mut bench, &[b"zadd", b"z", &now, &a, &now, &b]);
        let first = command(&mut bench, &[b"zrange", b"z", b"0", b"0"]);
        let expected = if answers == 0 { a } else { b };
        assert_eq!(first, Reply::Array(vec![Reply::Bulk(expected)]));
        assert_eq!(bench.server.take_notes().opened, 1);
    }
}

#[test]
fn a_score_that_is_a_time_is_not_compared_with_a_fixed_day() {
    let mut bench = of_a_model();
    command(&mut bench, &[b"zadd", b"z", &stamp(0, 0), b"m"]);
    command(&mut bench, &[b"zcount", b"z", b"-inf", b"1600000000000"]);
    let refusal = bench.server.take_notes().refusal;
    assert!(refusal.is_some_and(|(refusal, _)| refusal.what.contains("fixed number")));
}

#[test]
fn a_script_makes_a_time_of_the_servers_clock() {
    let mut bench = of_a_model();
    for made in [
        "t[1] * 1000 + math.floor(t[2] / 1000)",
        "math.floor(t[2] / 1000) + 1000 * tonumber(t[1])",
        "math.floor(t[1] * 1000 + t[2] / 1000)",
        "math.floor((t[1] * 1000000 + t[2]) / 1000)",
    ] {
        let script = format!("local t = redis.call('TIME') return tostring({made})");
        let reply = command(&mut bench, &[b"eval", script.as_bytes(), b"0"]);
        let Reply::Bulk(text) = reply else {
            panic!("{made}: {reply:?}");
        };
        assert_eq!(
            lockproof_lua::text::printable(&text),
            "<time +0 ms +1 ticks>"
        );
        let notes = bench.server.take_notes();
        assert!(notes.clock && notes.refusal.is_none(), "{made}");
    }
}

#[test]
fn what_else_is_made_of_the_servers_clock_is_refused() {
    for made in [
        "t[1]",
        "tonumber(t[2])",
        "t[1] * 1000",
        "t[1] * 1000 + t[2] / 1000",
        "math.ceil(t[1] * 1000 + t[2] / 1000)",
        "t[1] * 1000 + math.floor(t[2] / 1001)",
        "t[1] * 1000 + t[1] * 1000",
        "t[1] * 1000 + math.floor(redis.call('TIME')[2] / 1000)",
        "t[1] - t[2]",
        "-t[1]",
        "t[1] * 0",
        "math.floor(t[2]) < 5",
        "t[1] == t[1] + 1",
        "{ok = t[1]}",
        "{err = t[1]}",
        "redis.call('SET', 'k', t[1])",
        "math.max(t[1], 1)",
        "({})[t[1]]",
        "#t[1] < 9",
    ] {
        let mut bench = of_a_model();
        let script = format!("local t = redis.call('TIME') return {made}");
        let reply = command(&mut bench, &[b"eval", script.as_bytes(), b"0"]);
        let refused = bench.server.take_notes().refusal.is_some();
        assert!(refused, "{made}: {reply:?}");
    }
}
