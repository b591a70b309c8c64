//! A formal server with a key of each type.

use lockproof_redis::{Reply, ScriptEngine, Server};

pub fn say(server: &mut Server, engine: &mut ScriptEngine, line: &str) -> Reply {
    let argv: Vec<_> = line
        .split(' ')
        .map(|word| word.as_bytes().to_vec())
        .collect();
    server.execute(engine, 0, &argv)
}

pub fn furnish(server: &mut Server) {
    let mut engine = ScriptEngine::new().expect("it always starts");
    for line in [
        "SET lock token PX 3000",
        "HSET hash token 1 field 9223372036854775807",
        "RPUSH list a b c",
        "ZADD set 1 a 2.5 b",
    ] {
        say(server, &mut engine, line);
    }
}

pub fn contents(server: &mut Server, engine: &mut ScriptEngine) -> Vec<Reply> {
    let lines = [
        "GET lock",
        "PTTL lock",
        "HGETALL hash",
        "LRANGE list 0 -1",
        "ZRANGE set 0 -1",
    ];
    lines.map(|line| say(server, engine, line)).to_vec()
}
