//! Scripts: compiled, and run on a formal server that has something of each type.

use lockproof_redis::{Reply, ScriptEngine, Server, compile_script};

use super::{Form, Target, line_is_there, same, server};

pub const TARGET: Target = Target {
    name: "script",
    run,
    form: Form::Text,
    seeds: &[("lua", "lua")],
    words: &[
        "redis.call(",
        "redis.pcall(",
        "KEYS[1]",
        "ARGV[1]",
        "return ",
        "'get'",
        "'set'",
        "'px'",
        "'hincrby'",
        "'zadd'",
        "'lrange'",
        "'time'",
        "cjson.encode(",
        "cjson.decode(",
        "cmsgpack.pack(",
        "cmsgpack.unpack(",
        "struct.pack(",
        "struct.unpack(",
        "bit.lshift(",
        "string.rep(",
        "string.format(",
        "string.find(",
        "string.gsub(",
        "string.byte(",
        "table.concat(",
        "table.sort(",
        "table.insert(",
        "unpack(",
        "tonumber(",
        "tostring(",
        "setmetatable(",
        "pcall(",
        "error(",
        "for i = 1, ",
        " do ",
        " end ",
        "function ",
        "while ",
        "repeat ",
        " until ",
        "local ",
        "if ",
        " then ",
        " else ",
        "..",
        "'%1000d'",
        "'%s*'",
        "'(.-)%1'",
        "'%b()'",
        "\\0",
        "redis.error_reply(",
        "#!lua flags=no-writes\n",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    if let Err((line, why)) = compile_script(input) {
        line_is_there(line as usize, input);
        assert!(!why.is_empty());
    }
    let mut fresh = Server::new(1_700_000_000_000);
    server::furnish(&mut fresh);
    same(
        "run twice",
        &answer(fresh.clone(), input),
        &answer(fresh, input),
    );
}

fn answer(mut server: Server, script: &[u8]) -> (Reply, Vec<Reply>) {
    let mut engine = ScriptEngine::new().expect("it always starts");
    let words: [&[u8]; 7] = [b"EVAL", script, b"2", b"lock", b"hash", b"token", b"3000"];
    let argv: Vec<_> = words.iter().map(|word| word.to_vec()).collect();
    let reply = server.execute(&mut engine, 1, &argv);
    let left = server::contents(&mut server, &mut engine);
    (reply, left)
}
