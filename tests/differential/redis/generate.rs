//! Random sequences of commands, scripts and clock moves.
//!
//! A command is drawn as a template with holes, so that most commands are
//! well-formed and the few keys, fields and times collide; a share is then
//! cut short, lengthened or shouted in capitals. Choices are plain numbers,
//! which shrink towards the first (and simplest) entry of each list.

use std::fmt;

use lockproof_redis::{Bytes, Dialect};
use lockproof_trace::EPOCH_MS;
use proptest::prelude::*;

use super::scripts;

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The sender sends a command.
    Command(Vec<Bytes>),
    /// The subscriber's connection sends one.
    Subscriber(Vec<Bytes>),
    /// The server's clock is set to the epoch and this many ms.
    Clock(i64),
    /// The sender sends these with MULTI before and EXEC or DISCARD behind them.
    Transaction(Vec<Vec<Bytes>>),
    /// From here on the server asks for a replica before it writes, which it has
    /// not got, or does not ask.
    AsksForReplica(bool),
}

impl Step {
    pub fn command(words: &[&str]) -> Self {
        Self::Command(words.iter().map(|word| word.as_bytes().to_vec()).collect())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |argv: &[Bytes]| {
            let words = argv
                .iter()
                .map(|w| format!("{:?}", String::from_utf8_lossy(w)));
            words.collect::<Vec<_>>().join(" ")
        };
        match self {
            Self::Command(argv) => f.write_str(&words(argv)),
            Self::Subscriber(argv) => write!(f, "(subscriber) {}", words(argv)),
            Self::Transaction(all) => {
                let all: Vec<_> = all.iter().map(|argv| words(argv)).collect();
                f.write_str(&all.join("; "))
            }
            Self::Clock(ms) => write!(f, "(clock at +{ms} ms)"),
            Self::AsksForReplica(true) => f.write_str("(min-replicas-to-write 1)"),
            Self::AsksForReplica(false) => f.write_str("(min-replicas-to-write 0)"),
        }
    }
}

/// Number of commands in a sequence.
pub fn commands_in(steps: &[Step]) -> usize {
    let commands = steps.iter().map(|step| match step {
        Step::Command(_) | Step::Subscriber(_) => 1,
        Step::Transaction(all) => all.len(),
        Step::Clock(_) | Step::AsksForReplica(_) => 0,
    });
    commands.sum()
}

pub const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// What fills a hole in a template; every hole is one word, `?` ones are none
/// or several.
fn choices(hole: &str) -> &'static [&'static str] {
    match hole {
        "$key" => &KEYS,
        // Each type has a key that is mostly its own, or most commands would
        // meet the wrong type.
        "$string" => &["a", "a", "a", "a", "b", "c", "d"],
        "$hash" => &["b", "b", "b", "b", "a", "c", "d"],
        "$list" => &["c", "c", "c", "c", "a", "b", "d"],
        "$zset" => &["d", "d", "d", "d", "a", "b", "c"],
        "$set" => &["e", "e", "e", "e", "a", "b", "c"],
        "$field" => &["f", "g", "h"],
        "$value" => &[
            "x",
            "y",
            "1",
            "10",
            "-1",
            "0",
            "",
            "0.5",
            "01",
            " 1",
            "9223372036854775807",
            "-9223372036854775808",
            "f",
            "inf",
            "e\r\nf",
        ],
        "$int" => &[
            "1",
            "-1",
            "0",
            "2",
            "10",
            "x",
            "1.0",
            "9223372036854775807",
            "-9223372036854775808",
            "9223372036854775808",
            "-0",
            "+1",
            "",
        ],
        "$index" => &["0", "-1", "1", "-2", "2", "5", "-7", "x"],
        "$count" => &["1", "0", "2", "-1", "-2", "7", "x"],
        "$side" => &["-1", "1", "0", "-1", "1", "-2", "2", "7", "x"],
        "$ms" => &[
            "10",
            "1",
            "5",
            "1000",
            "1500",
            "0",
            "-1",
            "x",
            "9223372036854775807",
        ],
        "$s" => &[
            "1",
            "2",
            "10",
            "0",
            "-1",
            "x",
            "9223372036854775807",
            "9223372036854776",
        ],
        "$atms" => &[
            "1700000000010",
            "1700000000000",
            "1700000000001",
            "1699999999999",
            "1700000001500",
            "1",
            "0",
            "-5",
            "x",
        ],
        "$ats" => &[
            "1700000001",
            "1700000000",
            "1699999999",
            "1700000010",
            "1",
            "0",
            "-1",
            "x",
        ],
        "$score" => &[
            "1",
            "2",
            "0",
            "-1",
            "0.1",
            "-0",
            "1.5",
            "1e3",
            "inf",
            "-inf",
            "3.0",
            "1e17",
            "1e-5",
            "123456789.125",
            "x",
            "nan",
            "",
            "1e400",
            "0.30000000000000004",
            "+5",
        ],
        "$bound" => &[
            "-inf", "+inf", "1", "(1", "0", "2", "(2", "inf", "(-inf", "x", "(",
        ],
        "$channel" => &["ch", "ch2"],
        "?set" => &[
            "",
            "nx",
            "px $ms",
            "nx px $ms",
            "ex $s",
            "xx",
            "get",
            "keepttl",
            "nx ex $s",
            "xx get",
            "exat $ats",
            "pxat $atms",
            "nx get",
            "xx keepttl",
            "px",
            "nx xx",
            "px $ms keepttl",
            "ex $s px $ms",
            "get get px $ms",
            "ex $s ex $s",
            "junk",
        ],
        "?expire" => &[
            "", "nx", "xx", "gt", "lt", "xx gt", "xx lt", "nx xx", "gt lt", "junk",
        ],
        "?zadd" => &[
            "",
            "nx",
            "xx",
            "gt",
            "lt",
            "ch",
            "incr",
            "xx ch",
            "gt ch",
            "lt incr",
            "xx incr",
            "nx incr",
            "nx xx",
            "gt lt",
            "nx gt",
            "xx gt ch incr",
        ],
        "?zrange" => &[
            "",
            "withscores",
            "rev",
            "rev withscores",
            "limit 0 1",
            "junk",
        ],
        "?byscore" => &[
            "",
            "withscores",
            "limit 0 1",
            "limit $index $count",
            "limit 1",
            "junk",
        ],
        "?rank" => &["", "", "withscore", "junk"],
        "?count" => &["", "$count"],
        "$element" => &["x", "y", "x", "y", "x", "y", "f", ""],
        "?more" => &[
            "",
            "$element",
            "$element $element",
            "$element $element $element",
        ],
        "?member" => &["", "$score $field"],
        "?fields" => &["", "$field", "$field $field"],
        "?pair" => &["", "$field $value"],
        "?keys" => &["", "$key", "$key $key"],
        "?pairs" => &["", "$key $value", "$key $value $key $value", "$key"],
        "$end" => &["left", "right", "left", "RIGHT", "left", "right", "up"],
        "?getex" => &[
            "",
            "px $ms",
            "ex $s",
            "pxat $atms",
            "exat $ats",
            "persist",
            "persist px $ms",
            "px $ms ex $s",
            "px",
            "junk",
        ],
        "?ifeq" => &[
            "ifeq $value",
            "ifeq $value get",
            "ifeq",
            "ifeq $value nx",
            "ifeq $value px $ms",
        ],
        other => panic!("no such hole: {other}"),
    }
}

/// Commands with holes; those of locks come more than once.
pub const TEMPLATES: &[&str] = &[
    "set $string $value ?set",
    "set $string $value ?set",
    "set $string $value ?set",
    "set $string $value ?set",
    "get $string",
    "get $string",
    "del $key ?keys",
    "pexpire $key $ms ?expire",
    "pttl $key",
    "pttl $key",
    "ttl $key",
    "exists $key ?keys",
    "type $key",
    "setnx $string $value",
    "setex $string $s $value",
    "psetex $string $ms $value",
    "getset $string $value",
    "getdel $string",
    "getex $string ?getex",
    "getex $string ?getex",
    "touch $key ?keys",
    "unlink $key",
    "expire $key $s ?expire",
    "pexpire $key $ms ?expire",
    "expireat $key $ats ?expire",
    "pexpireat $key $atms ?expire",
    "persist $key",
    "incr $string",
    "decr $string",
    "incrby $string $int",
    "decrby $string $int",
    "hset $hash $field $value ?pair",
    "hset $hash $field $value",
    "hsetnx $hash $field $value",
    "hget $hash $field",
    "hdel $hash $field ?fields",
    "hexists $hash $field",
    "hincrby $hash $field $int",
    "hincrby $hash $field $int",
    "hlen $hash",
    "lpush $list $element ?more",
    "rpush $list $element ?more",
    "rpush $list $element $element $element",
    "lpop $list ?count",
    "rpop $list ?count",
    "lrange $list $index $index",
    "llen $list",
    "lindex $list $index",
    "lrem $list $side $element",
    "lrem $list $side $element",
    "rpush $list $element $element $element",
    "zadd $zset ?zadd $score $field ?member",
    "zadd $zset ?zadd $score $field ?member",
    "zrem $zset $field ?fields",
    "zrange $zset $index $index ?zrange",
    "zscore $zset $field",
    "zrange $zset $bound $bound byscore ?byscore",
    "zrangebyscore $zset $bound $bound ?byscore",
    "zcard $zset",
    "zrank $zset $field ?rank",
    "zincrby $zset $score $field",
    "mget $key ?keys",
    "mset $string $value ?pairs",
    "msetnx $string $value ?pairs",
    "hmget $hash $field ?fields",
    "hmset $hash $field $value ?pair",
    "rpoplpush $list $list",
    "rpoplpush $list $key",
    "lmove $list $list $end $end",
    "lmove $list $key $end $end",
    "ltrim $list $index $index",
    "lpushx $list $element ?more",
    "rpushx $list $element ?more",
    "sadd $set $field ?fields",
    "sadd $set $field ?fields",
    "srem $set $field ?fields",
    "smove $set $set $field",
    "smove $set $key $field",
    "sismember $set $field",
    "smismember $set $field ?fields",
    "scard $set",
    "zcount $zset $bound $bound",
    "zremrangebyscore $zset $bound $bound",
    "zremrangebyrank $zset $index $index",
    "zpopmin $zset ?count",
    "zpopmax $zset ?count",
    "publish $channel $value",
    "publish $channel $value",
    "ping ?more",
    "echo $value",
];

/// Templates for the sender alone: not for scripts, where a real server's
/// order of fields would show. WAIT never asks for a replica: its time-out runs
/// on the server's clock, which stands still.
const SENDER_ONLY: &[&str] = &[
    "time",
    "hgetall $hash",
    "hkeys $hash",
    "hvals $hash",
    "smembers $set",
    "wait 0 0",
    "wait -1 5",
    "wait x 0",
    "wait 0 x",
    "wait 0 -1",
    "flushall ?count",
    "watch $key ?keys",
    "watch $key ?keys",
    "watch $key ?keys",
    "unwatch",
    "exec",
    "discard",
    "script exists $field",
    "script flush ?count",
    "script nonsense $key",
    "nonsense $key $value",
    "evalsha $field $count $key",
    "eval $value $count $key",
    "eval return{KEYS[1],ARGV[1]} 1 $key $value",
    "script load return{KEYS[1],ARGV[1]}",
    "evalsha b2f8419f2aff8c8c7903adfa37117080691dbe99 1 $key $value",
    "script exists b2f8419f2aff8c8c7903adfa37117080691dbe99",
];

const VALKEY_ONLY: &[&str] = &["delifeq $string $value", "set $string $value ?ifeq"];

/// Draws from choices made beforehand.
pub struct Draw<'a> {
    numbers: &'a [u16],
    at: usize,
}

impl<'a> Draw<'a> {
    pub fn new(numbers: &'a [u16]) -> Self {
        Self { numbers, at: 0 }
    }

    /// A number below `limit`; the first is 0 once the choices have run out.
    pub fn below(&mut self, limit: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(number) % limit
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Fills a template's holes.
    pub fn fill(&mut self, template: &str) -> Vec<String> {
        let mut words = Vec::new();
        for word in template.split(' ').filter(|word| !word.is_empty()) {
            if word.starts_with('?') {
                let choice = self.one(choices(word));
                words.extend(self.fill(choice));
            } else if word.starts_with('$') {
                words.push(self.one(choices(word)).to_owned());
            } else {
                words.push(word.to_owned());
            }
        }
        words
    }

    /// A command of any kind that scripts may contain.
    pub fn command(&mut self) -> Vec<String> {
        let template = self.one(TEMPLATES);
        self.fill(template)
    }

    /// MULTI, a few commands of any kind, and mostly EXEC.
    fn transaction(&mut self, dialect: Dialect) -> Vec<Vec<Bytes>> {
        let mut out = vec![bytes(vec!["multi".to_owned()])];
        for _ in 0..self.below(4) {
            let words = match self.below(12) {
                1 => self.fill("watch $key"),
                2 => vec!["multi".to_owned()],
                3 => vec!["unwatch".to_owned()],
                4 => self.sender_command(dialect),
                _ => self.command(),
            };
            // Whose elements have no order, or are a clock's.
            let loose = ["hgetall", "hkeys", "hvals", "smembers", "time"];
            let name = words[0].to_lowercase();
            let ends = ["exec", "discard"].contains(&&*name);
            if !loose.contains(&&*name) && !ends {
                out.push(bytes(words));
            }
        }
        let end = self.one(&["exec", "exec", "exec", "exec", "discard"]);
        out.push(bytes(vec![end.to_owned()]));
        out
    }

    fn sender_command(&mut self, dialect: Dialect) -> Vec<String> {
        let mut templates: Vec<&str> = [TEMPLATES, SENDER_ONLY].concat();
        if dialect == Dialect::Valkey9 {
            templates.extend(VALKEY_ONLY);
        }
        let template = self.one(&templates);
        let mut words = self.fill(template);
        match self.below(40) {
            // WAIT must not lose its time-out, or it could wait for ever.
            // No word at all gets no reply at all.
            1 if words[0] != "wait" && words.len() > 1 => {
                words.pop();
            }
            2 => words.push("extra".to_owned()),
            3 => words[0] = words[0].to_uppercase(),
            _ => {}
        }
        words
    }
}

fn bytes(words: Vec<String>) -> Vec<Bytes> {
    words.into_iter().map(String::into_bytes).collect()
}

/// What numbers mean as a step.
fn step(kind: u8, numbers: &[u16], dialect: Dialect) -> Step {
    let mut draw = Draw::new(numbers);
    match kind {
        0..52 => Step::Command(bytes(draw.sender_command(dialect))),
        52..60 => Step::Transaction(draw.transaction(dialect)),
        60..85 => Step::Command(bytes(scripts::eval(&mut draw))),
        85..94 => {
            // Small moves meet the ms at which keys end; some go back.
            let moves = [
                1, 9, 10, 11, 5, 0, 2, 999, 1_000, 1_001, 1_500, 10_000, -1, -10,
            ];
            Step::Clock(draw.one(&moves))
        }
        // Seldom asked for, and not for long: what is refused changes nothing.
        94 => Step::AsksForReplica(draw.one(&[false, false, true])),
        _ => {
            let templates = [
                "subscribe $channel",
                "unsubscribe",
                "unsubscribe $channel",
                "subscribe $channel $channel",
                "ping",
                "get $string",
                "publish $channel $value",
                "eval return $count",
                "unsubscribe $channel $channel",
                "subscribe",
            ];
            let template = draw.one(&templates);
            Step::Subscriber(bytes(draw.fill(template)))
        }
    }
}

/// Clock moves are drawn relative and stored absolute, so that a shrunk
/// sequence still says what time it is.
fn absolute(mut steps: Vec<Step>) -> Vec<Step> {
    let mut offset = 0;
    for step in &mut steps {
        if let Step::Clock(ms) = step {
            offset += *ms;
            *ms = offset;
        }
    }
    debug_assert!(EPOCH_MS + offset > 0);
    steps
}

/// Sequences for servers of this dialect.
pub fn sequences(dialect: Dialect) -> impl Strategy<Value = Vec<Step>> {
    let one = (0..100_u8, prop::collection::vec(any::<u16>(), 24));
    prop::collection::vec(one, 1..80).prop_map(move |steps| {
        let steps = steps
            .iter()
            .map(|(kind, numbers)| step(*kind, numbers, dialect));
        absolute(steps.collect())
    })
}
