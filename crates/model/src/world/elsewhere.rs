//! The commands of real servers that the model does not have.
//!
//! A lock that sends one of these can not be followed. A lock that sends a command which is in neither
//! list has a mistake in it: no server would execute it, so it is told what was perhaps meant.

use lockproof_input::nearest;
use lockproof_redis::commands;
use lockproof_trace::words;

/// As `COMMAND LIST` of Redis 7.0, Redis 8.2 and Valkey 9.1 gives them, and three of Redis 8.4 (`delex`,
/// `digest`, `msetex`), in lower case and sorted. Commands of modules are left out: their names have a dot.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    "acl", "append", "asking", "auth", "bgrewriteaof", "bgsave", "bitcount", "bitfield",
    "bitfield_ro", "bitop", "bitpos", "blmove", "blmpop", "brpop", "brpoplpush", "bzmpop",
    "bzpopmax", "bzpopmin", "client", "cluster", "clusterscan", "command", "commandlog",
    "config", "copy", "dbsize", "debug", "delex", "digest", "dump", "eval_ro", "evalsha_ro",
    "expiretime", "failover", "fcall", "fcall_ro", "flushdb", "function", "geoadd", "geodist",
    "geohash", "geopos", "georadius", "georadius_ro", "georadiusbymember",
    "georadiusbymember_ro", "geosearch", "geosearchstore", "getbit", "getrange", "hello",
    "hexpire", "hexpireat", "hexpiretime", "hgetdel", "hgetex", "hincrbyfloat", "hpersist",
    "hpexpire", "hpexpireat", "hpexpiretime", "hpttl", "hrandfield", "hscan", "hsetex",
    "hstrlen", "httl", "incrbyfloat", "info", "keys", "lastsave", "latency", "lcs", "linsert",
    "lmpop", "lolwut", "lpos", "lset", "memory", "migrate", "module", "monitor", "move",
    "msetex", "object", "pexpiretime", "pfadd", "pfcount", "pfdebug", "pfmerge", "pfselftest",
    "psubscribe", "psync", "pubsub", "punsubscribe", "quit", "randomkey", "readonly",
    "readwrite", "rename", "renamenx", "replconf", "replicaof", "reset", "restore", "role",
    "save", "scan", "sdiff", "sdiffstore", "select", "setbit", "setrange", "shutdown", "sinter",
    "sintercard", "sinterstore", "slaveof", "slowlog", "sort", "sort_ro", "spop", "spublish",
    "srandmember", "sscan", "ssubscribe", "strlen", "substr", "sunion", "sunionstore",
    "sunsubscribe", "swapdb", "sync", "vadd", "vcard", "vdim", "vemb", "vgetattr", "vinfo",
    "vismember", "vlinks", "vrandmember", "vrem", "vsetattr", "vsim", "waitaof", "xack",
    "xackdel", "xadd", "xautoclaim", "xclaim", "xdel", "xdelex", "xgroup", "xinfo", "xlen",
    "xpending", "xrange", "xread", "xreadgroup", "xrevrange", "xsetid", "xtrim", "zdiff",
    "zdiffstore", "zinter", "zintercard", "zinterstore", "zlexcount", "zmpop", "zmscore",
    "zrandmember", "zrangebylex", "zrangestore", "zremrangebylex", "zrevrange",
    "zrevrangebylex", "zrevrangebyscore", "zrevrank", "zscan", "zunion", "zunionstore",
];

/// Why this can not be sent to any server, as a clause about it; `None` if some server has the command.
/// Upper and lower case are one.
pub fn nowhere(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let known = || commands().iter().map(|command| command.name());
    let exists = |name: &str| known().any(|known| known == name) || ELSEWHERE.contains(&name);
    if exists(&lower) || lower.contains('.') {
        return None;
    }
    let first = lower.split_whitespace().next().unwrap_or_default();
    if first != lower && exists(first) {
        let first = first.to_uppercase();
        return Some(format!(
            "{first} and its arguments as one text, and Redis looks for a command of that name; give each argument \
             by itself: \"{first}\", lock.key, .."
        ));
    }
    let meant = nearest::nearest(&lower, known().chain(ELSEWHERE.iter().copied()));
    let meant = meant.map_or(String::new(), |meant| {
        format!("; did you mean {}?", meant.to_uppercase())
    });
    Some(format!(
        "{}, which is no command of Redis or Valkey{meant}",
        shown(name)
    ))
}

/// In upper case, and not longer than a message can bear.
fn shown(name: &str) -> String {
    match name.is_empty() {
        true => "an empty text".into(),
        false => words::shorten(&words::printable(&name.to_uppercase()), 40),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_both_in_the_model_and_elsewhere() {
        assert!(ELSEWHERE.is_sorted());
        let both = commands()
            .iter()
            .find(|one| ELSEWHERE.contains(&one.name()));
        assert!(both.is_none(), "{}", both.unwrap().name());
    }

    #[test]
    fn what_no_server_has_is_told_what_was_perhaps_meant() {
        let told = |name: &str| nowhere(name).unwrap();
        assert!(
            told("SETXN").ends_with("did you mean SETNX?"),
            "{}",
            told("SETXN")
        );
        assert!(
            told("gte").ends_with("did you mean GET?"),
            "{}",
            told("gte")
        );
        assert!(told("setnx lock 1").contains("as one text"));
        assert!(!told("qqqqqqqq").contains("did you mean"));
        assert!(told("").starts_with("an empty text"));
        assert!(!told("\u{1b}[2J").contains('\u{1b}'));
        for real in ["SETNX", "xadd", "JSON.SET"] {
            assert_eq!(nowhere(real), None, "{real}");
        }
    }
}
