//! What one command costs the formal Redis: the closure of a lock runs
//! thousands of them.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockproof_redis::{Bytes, Reply, ScriptEngine, Server};

const COMPARE_AND_DELETE: &str = "\
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0";

/// What Redisson's reentrant lock does, in its own steps: take a free hash or
/// one's own, count up, set the lease; else say how long the other's lasts.
const REENTRANT_ACQUIRE: &str = "\
if redis.call('exists', KEYS[1]) == 0
    or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

fn words(words: &[&str]) -> Vec<Bytes> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Measures `argv` on a server that `before` has prepared; each run starts from
/// a copy, because that is how a closure calls it.
fn measure(c: &mut Criterion, name: &str, before: &[&[&str]], argv: &[&str], expected: &Reply) {
    let mut engine = ScriptEngine::new().expect("Lua starts");
    let mut server = Server::new(0);
    for line in before {
        server.execute(&mut engine, 0, &words(line));
    }
    let argv = words(argv);
    let reply = server.clone().execute(&mut engine, 0, &argv);
    assert_eq!(&reply, expected, "the benchmark measures something else");
    c.bench_function(name, |b| {
        b.iter(|| server.clone().execute(&mut engine, 0, black_box(&argv)));
    });
}

fn commands(c: &mut Criterion) {
    let ok = Reply::Status("OK".to_owned());
    measure(
        c,
        "set nx px",
        &[],
        &["set", "k", "t", "nx", "px", "100"],
        &ok,
    );
    let held: &[&[&str]] = &[&["set", "k", "t", "px", "100"]];
    let release = ["eval", COMPARE_AND_DELETE, "1", "k", "t"];
    measure(
        c,
        "compare-and-delete script",
        held,
        &release,
        &Reply::Int(1),
    );
    let acquire = ["eval", REENTRANT_ACQUIRE, "1", "k", "100", "me"];
    measure(c, "reentrant acquire script", &[], &acquire, &Reply::Nil);
    let refused = ["eval", REENTRANT_ACQUIRE, "1", "k", "100", "you"];
    measure(
        c,
        "reentrant acquire script, refused",
        &[&acquire],
        &refused,
        &Reply::Int(100),
    );
    c.bench_function("create a script engine", |b| b.iter(ScriptEngine::new));
}

criterion_group!(benches, commands);
criterion_main!(benches);
