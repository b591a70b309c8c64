//! Random server-side scripts: several calls, conditions and conversions.

use super::generate::Draw;

/// Values whose way through Lua to a reply is worth a test.
const VALUES: &[&str] = &[
    "1",
    "ARGV[1]",
    "KEYS[1]",
    "'text'",
    "true",
    "false",
    "nil",
    "2.5",
    "-2.5",
    "1e15",
    "2^53",
    "2^63",
    "-2^63",
    "1e30",
    "0/0",
    "1/0",
    "-1/0",
    "{}",
    "{1, 2, nil, 4}",
    "{1, {2, {3}}}",
    "{false, 1}",
    "{nil, 1}",
    "{ok = 'fine'}",
    "{err = 'MY error'}",
    "{err = 'bare'}",
    "{ok = 1}",
    "{err = 2}",
    "{double = 0.1}",
    "{double = 3}",
    "{double = -0.0}",
    "{double = 1e17}",
    "{double = 1e19}",
    "{double = 1/0}",
    "{ok = 'a\\nb'}",
    "redis.error_reply('boo')",
    "redis.error_reply('MY boo')",
    "redis.error_reply('-MY boo')",
    "redis.error_reply(1)",
    "redis.status_reply('fine')",
    "redis.status_reply()",
    "redis.sha1hex('x')",
    "#KEYS",
    "#ARGV",
    "KEYS[9]",
    "tonumber(ARGV[2])",
    "tonumber('x')",
    "tostring(1e15)",
    "tostring(0.1)",
    "1 .. ''",
    "'1' + 1",
    "type(KEYS)",
    "function() end",
    "redis.LOG_WARNING",
    "string.format('%d:%s', 3, 'x')",
    "('a:b'):match('(.-):(.*)')",
    "(('aXbX'):gsub('X', '-'))",
    "table.concat(ARGV, ',')",
    "select('#', unpack(ARGV))",
    "math.floor(2.7)",
    "('x'):rep(3)",
    "_VERSION",
    "redis.replicate_commands()",
    "next({}) == nil",
    "#redis.call('hgetall', KEYS[1])",
    "#redis.pcall('hkeys', KEYS[1])",
    "redis.pcall('get')",
    "redis.pcall('subscribe', 'ch')",
    "redis.pcall()",
    "redis.pcall(true)",
    "redis.pcall('get', {})",
    "redis.pcall('eval', 'return 1', 0)",
    "cjson.encode({a = 1})",
    "cjson.encode({1, 2.5, 'x', true, cjson.null})",
    "cjson.encode({})",
    "cjson.encode({{}, {b = {1}}})",
    "cjson.encode('a\\n\"/\\\\')",
    "cjson.encode({1/3, 1e15, 1e20, 0.1, -0.0})",
    "cjson.encode(ARGV)",
    "cjson.encode({[1] = 1, [3] = 3})",
    "cjson.decode('{\"a\": [1, null, 2.5]}').a",
    "cjson.decode('[1, {\"x\": null}]')[2].x == cjson.null",
    "cjson.decode('\"\\\\u00e9\"')",
    "tostring(cjson.decode('1e5'))",
    "cmsgpack.pack(ARGV[1], 300, -5, 1.5, true, {1, 2}, {a = 1})",
    "cmsgpack.pack(ARGV[2] + 0, 2^32, -2^40, 0/0)",
    "{cmsgpack.unpack(cmsgpack.pack(1, 'x', {1, {2}}))}",
    "cmsgpack.unpack(cmsgpack.pack({x = ARGV[1]})).x",
    "struct.pack('>I2<I4s', 1, 2, 'x')",
    "{struct.unpack('>I2B', 'abc')}",
    "struct.pack('dfc3', 0.5, 2, 'abcd')",
    "struct.size('bhi')",
    "bit.band(0xff, ARGV[2])",
    "bit.bor(1, 2^31, 2^40)",
    "bit.bxor(5, -1)",
    "bit.tohex(-255, 4)",
    "bit.bswap(0x12345678)",
    "bit.tobit(2^32 + 5)",
    "{bit.lshift(1, 31), bit.rshift(-1, 3), bit.arshift(-8, 1), bit.rol(1, 33), bit.ror(1, 1)}",
    "redis.sha1hex(ARGV[1])",
    "redis.log(redis.LOG_NOTICE, 'x')",
    "redis.setresp(2)",
];

/// Numbers as a command's argument.
const NUMBERS: &[&str] = &[
    "1",
    "0.1",
    "3.0",
    "-0.5",
    "1e15",
    "1e17",
    "1e21",
    "1e300",
    "1.5e-7",
    "0/0",
    "1/0",
    "2^62",
    "2^63",
    "123456.789e3",
    "tonumber(ARGV[2])",
    "ARGV[2] + 1",
    "100 / 3",
];

/// Ways in which a script ends early. Two are left out: `error({})` kills Redis
/// 7.0.15, and Redis 8.2 sends a line feed in a raised text as it is, where
/// others (and the model) send a space.
const RAISES: &[&str] = &[
    "error('boom')",
    "error('boom', 0)",
    "error({err = 'MY error'})",
    "error()",
    "error(12)",
    "return nil + 1",
    "return undeclared",
    "undeclared = 1",
    "KEYS = 1",
    "string.x = 1",
    "redis.x = 1",
    "rawset(_G, 'x', 1)",
    "assert(false, 'no')",
    "return ('x')()",
    "return 1 < 'x'",
    "return {} .. 'x'",
    "return redis.nonsense()",
    "redis.log(1)",
    "redis.log('x', 'y')",
    "redis.log(7, 'y')",
    "redis.sha1hex()",
    "redis.setresp()",
    "redis.setresp(9)",
    "return",
    "syntax error",
    "return print('x')",
    "return #nil",
    "for i = 1, 'x' do end",
    "local t = nil; t.x = 1",
    "return tostring()",
    "return setmetatable(1, 2)",
    "return string.rep()",
    "return cjson.encode(print)",
    "return cjson.encode(1/0)",
    "return cjson.encode({[1] = 1, [1000] = 2})",
    "return cjson.decode('')",
    "return cjson.decode('{a}')",
    "return cjson.decode()",
    "return bit.band()",
    "return bit.band('x')",
    "return struct.pack('I9', 1)",
    "return struct.unpack('I4', 'ab')",
    "return struct.pack('z', 1)",
    "return cmsgpack.unpack('\\199')",
    "return cmsgpack.unpack('\\162x')",
];

/// First lines that say something of a script.
const FLAGS: &[&str] = &[
    "#!lua",
    "#!lua flags=no-writes",
    "#!lua flags=allow-oom,no-writes",
    "#!lua flags=",
    "#!lua flags=nonsense",
    "#!lua name=x",
    "#!js",
    "#!",
];

/// EVAL with a script, two keys and three arguments.
pub fn eval(draw: &mut Draw<'_>) -> Vec<String> {
    let keys = [
        draw.one(&super::generate::KEYS),
        draw.one(&super::generate::KEYS),
    ];
    let args = [
        draw.one(&["x", "y", "1", ""]),
        draw.one(&["10", "1", "1000"]),
        "f",
    ];
    let mut script = String::new();
    if draw.below(10) == 0 {
        script = format!("{}\n", draw.one(FLAGS));
    }
    script += "local r = {}\n";
    for _ in 0..=draw.below(4) {
        script += &statement(draw, &keys, &args);
        script.push('\n');
    }
    const OK: &str = "return r";
    script += draw.one(&[OK, OK, OK, OK, OK, OK, OK, "return r r"]);
    let count = draw.one(&["2", "2", "2", "2", "2", "2", "1", "-1", "9", "x"]);
    let mut words = vec!["eval".to_owned(), script, count.to_owned()];
    words.extend(keys.iter().chain(&args).map(|word| (*word).to_owned()));
    words
}

fn statement(draw: &mut Draw<'_>, keys: &[&str], args: &[&str]) -> String {
    let kind = draw.below(12);
    match kind {
        0..=2 => format!("r[#r+1] = redis.call({})", arguments(draw, keys, args)),
        3 => format!("r[#r+1] = redis.pcall({})", arguments(draw, keys, args)),
        4 => format!(
            "local ok, e = pcall(redis.call, {}) r[#r+1] = {{tostring(ok), type(e), e}}",
            arguments(draw, keys, args)
        ),
        5 => format!(
            "if redis.call('get', KEYS[1]) == ARGV[1] then r[#r+1] = redis.call({}) end",
            arguments(draw, keys, args)
        ),
        6 => format!(
            "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[3], 1) \
             redis.call('pexpire', KEYS[1], ARGV[2]) else r[#r+1] = redis.call({}) end",
            arguments(draw, keys, args)
        ),
        7 => format!("do return redis.call({}) end", arguments(draw, keys, args)),
        8 => format!("do return {} end", draw.one(VALUES)),
        9 => format!("r[#r+1] = {}", draw.one(VALUES)),
        10 => format!(
            "redis.call('set', KEYS[2], {0}) r[#r+1] = redis.call('get', KEYS[2])",
            draw.one(NUMBERS)
        ),
        // A `return` must be the last of its block.
        _ => format!("do {} end", draw.one(RAISES)),
    }
}

/// A command's words as Lua expressions, through KEYS and ARGV where they can.
fn arguments(draw: &mut Draw<'_>, keys: &[&str], args: &[&str]) -> String {
    // What no server has, scripts of the model refuse: nothing to compare.
    let mut words = draw.command();
    while words[0] == "nonsense" {
        words = draw.command();
    }
    let shown = words.iter().map(|word| {
        if let Some(index) = keys.iter().position(|key| key == word) {
            format!("KEYS[{}]", index + 1)
        } else if let Some(index) = args.iter().position(|arg| arg == word) {
            format!("ARGV[{}]", index + 1)
        } else if word.len() < 6 && word.parse::<i64>().is_ok_and(|n| n.to_string() == *word) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\r', "\\r").replace('\n', "\\n"))
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
