//! The registry of commands and the way from an argument vector to a handler.
//!
//! One row a command, so that the list in the docs, the check of arities and
//! the dispatch cannot disagree. The order of the checks is Redis's own: known,
//! arity, allowed in a script, enough replicas to write, allowed to a subscriber.

use lockproof_lua::RefusalKind;

use super::call::{Answer, Call};
use super::engine::ScriptEngine;
use super::refusal::Refusal;
use super::server::{Dialect, Server};
use super::{Bytes, Reply};
use super::{
    connection, hashes, keys, lists, pubsub, scripting, sets, sorted_sets, strings, transactions,
};

/// What runs a command.
#[derive(Clone, Copy)]
enum Handler {
    /// Works on the server alone.
    Plain(fn(&mut Server, &Call<'_>) -> Answer),
    /// Also needs Lua.
    Script(fn(&mut Server, &mut ScriptEngine, &Call<'_>) -> Answer),
}

/// A property of a command, as bits.
type Flags = u8;
/// Changes the keyspace.
const WRITE: Flags = 1;
/// May not be called from a script.
const NOSCRIPT: Flags = 2;
/// A subscribed connection may send it.
const PUBSUB: Flags = 4;
/// Valkey 9 only.
const VALKEY: Flags = 8;
/// Runs at once where a transaction queues others, and refusing it ends none.
const AT_ONCE: Flags = 16;

/// One command of the model.
pub struct Command {
    name: &'static str,
    arity: i16,
    flags: Flags,
    run: Handler,
}

impl Command {
    /// Its name in lower case.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Number of words with the name; negative: at least that many.
    pub fn arity(&self) -> i16 {
        self.arity
    }

    /// Whether it can change the keyspace by itself (scripts aside).
    pub fn writes(&self) -> bool {
        self.flags & WRITE != 0
    }

    /// Whether a script may call it on this server.
    pub fn allowed_in_script(&self, dialect: Dialect) -> bool {
        // Since Redis 7.2 a script may call what blocks; it does not block there.
        let blocks = self.blocks() && dialect != Dialect::Redis70;
        blocks || self.flags & NOSCRIPT == 0
    }

    /// A server may hold it back before it answers.
    fn blocks(&self) -> bool {
        matches!(self.name, "blpop" | "wait")
    }

    /// Whether this server has it.
    pub fn exists_in(&self, dialect: Dialect) -> bool {
        self.flags & VALKEY == 0 || dialect == Dialect::Valkey9
    }

    fn takes(&self, words: usize, dialect: Dialect) -> bool {
        let wanted = usize::from(self.arity.unsigned_abs());
        // ZRANK got its option in Redis 7.2.
        let exact = self.name == "zrank" && dialect == Dialect::Redis70;
        if self.arity >= 0 || exact {
            words == wanted
        } else {
            words >= wanted
        }
    }
}

/// All commands, by name.
pub fn commands() -> &'static [Command] {
    COMMANDS
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    run: fn(&mut Server, &Call<'_>) -> Answer,
) -> Command {
    Command {
        name,
        arity,
        flags,
        run: Handler::Plain(run),
    }
}

const fn script_row(
    name: &'static str,
    arity: i16,
    run: fn(&mut Server, &mut ScriptEngine, &Call<'_>) -> Answer,
) -> Command {
    Command {
        name,
        arity,
        flags: NOSCRIPT,
        run: Handler::Script(run),
    }
}

/// Sorted by name: the look-up is a binary search.
static COMMANDS: &[Command] = &[
    row("blpop", -3, WRITE | NOSCRIPT, lists::blpop),
    row("decr", 2, WRITE, strings::decr),
    row("decrby", 3, WRITE, strings::decrby),
    row("del", -2, WRITE, keys::del),
    row("delifeq", 3, WRITE | VALKEY, strings::delifeq),
    row("discard", 1, NOSCRIPT | AT_ONCE, transactions::discard),
    row("echo", 2, 0, connection::echo),
    script_row("eval", -3, scripting::eval),
    script_row("evalsha", -3, scripting::evalsha),
    Command {
        name: "exec",
        arity: 1,
        flags: NOSCRIPT | AT_ONCE,
        run: Handler::Script(transactions::exec),
    },
    row("exists", -2, 0, keys::exists),
    row("expire", -3, WRITE, keys::expire),
    row("expireat", -3, WRITE, keys::expireat),
    row("flushall", -1, WRITE, keys::flushall),
    row("get", 2, 0, strings::get),
    row("getdel", 2, WRITE, strings::getdel),
    row("getex", -2, WRITE, strings::getex),
    row("getset", 3, WRITE, strings::getset),
    row("hdel", -3, WRITE, hashes::hdel),
    row("hexists", 3, 0, hashes::hexists),
    row("hget", 3, 0, hashes::hget),
    row("hgetall", 2, 0, hashes::hgetall),
    row("hincrby", 4, WRITE, hashes::hincrby),
    row("hkeys", 2, 0, hashes::hkeys),
    row("hlen", 2, 0, hashes::hlen),
    row("hmget", -3, 0, hashes::hmget),
    row("hmset", -4, WRITE, hashes::hmset),
    row("hset", -4, WRITE, hashes::hset),
    row("hsetnx", 4, WRITE, hashes::hsetnx),
    row("hvals", 2, 0, hashes::hvals),
    row("incr", 2, WRITE, strings::incr),
    row("incrby", 3, WRITE, strings::incrby),
    row("lindex", 3, 0, lists::lindex),
    row("llen", 2, 0, lists::llen),
    row("lmove", 5, WRITE, lists::lmove),
    row("lpop", -2, WRITE, lists::lpop),
    row("lpush", -3, WRITE, lists::lpush),
    row("lpushx", -3, WRITE, lists::lpushx),
    row("lrange", 4, 0, lists::lrange),
    row("lrem", 4, WRITE, lists::lrem),
    row("ltrim", 4, WRITE, lists::ltrim),
    row("mget", -2, 0, strings::mget),
    row("mset", -3, WRITE, strings::mset),
    row("msetnx", -3, WRITE, strings::msetnx),
    row("multi", 1, NOSCRIPT | AT_ONCE, transactions::multi),
    row("persist", 2, WRITE, keys::persist),
    row("pexpire", -3, WRITE, keys::pexpire),
    row("pexpireat", -3, WRITE, keys::pexpireat),
    row("ping", -1, PUBSUB, connection::ping),
    row("psetex", 4, WRITE, strings::psetex),
    row("pttl", 2, 0, keys::pttl),
    row("publish", 3, 0, pubsub::publish),
    row("rpop", -2, WRITE, lists::rpop),
    row("rpoplpush", 3, WRITE, lists::rpoplpush),
    row("rpush", -3, WRITE, lists::rpush),
    row("rpushx", -3, WRITE, lists::rpushx),
    row("sadd", -3, WRITE, sets::sadd),
    row("scard", 2, 0, sets::scard),
    script_row("script", -2, scripting::script),
    row("set", -3, WRITE, strings::set),
    row("setex", 4, WRITE, strings::setex),
    row("setnx", 3, WRITE, strings::setnx),
    row("sismember", 3, 0, sets::sismember),
    row("smembers", 2, 0, sets::smembers),
    row("smismember", -3, 0, sets::smismember),
    row("smove", 4, WRITE, sets::smove),
    row("srem", -3, WRITE, sets::srem),
    row("subscribe", -2, NOSCRIPT | PUBSUB, pubsub::subscribe),
    row("time", 1, 0, connection::time),
    row("touch", -2, 0, keys::exists),
    row("ttl", 2, 0, keys::ttl),
    row("type", 2, 0, keys::type_of),
    row("unlink", -2, WRITE, keys::del),
    row("unsubscribe", -1, NOSCRIPT | PUBSUB, pubsub::unsubscribe),
    row("unwatch", 1, NOSCRIPT, transactions::unwatch),
    row("wait", 3, NOSCRIPT, connection::wait),
    row("watch", -2, NOSCRIPT | AT_ONCE, transactions::watch),
    row("zadd", -4, WRITE, sorted_sets::zadd),
    row("zcard", 2, 0, sorted_sets::zcard),
    row("zcount", 4, 0, sorted_sets::zcount),
    row("zincrby", 4, WRITE, sorted_sets::zincrby),
    row("zpopmax", -2, WRITE, sorted_sets::zpopmax),
    row("zpopmin", -2, WRITE, sorted_sets::zpopmin),
    row("zrange", -4, 0, sorted_sets::zrange),
    row("zrangebyscore", -4, 0, sorted_sets::zrangebyscore),
    row("zrank", -3, 0, sorted_sets::zrank),
    row("zrem", -3, WRITE, sorted_sets::zrem),
    row("zremrangebyrank", 4, WRITE, sorted_sets::zremrangebyrank),
    row("zremrangebyscore", 4, WRITE, sorted_sets::zremrangebyscore),
    row("zscore", 3, 0, sorted_sets::zscore),
];

fn find(name: &[u8], dialect: Dialect) -> Option<&'static Command> {
    let lower = name.to_ascii_lowercase();
    let index = COMMANDS
        .binary_search_by(|command| command.name.as_bytes().cmp(&lower))
        .ok()?;
    Some(&COMMANDS[index]).filter(|command| command.exists_in(dialect))
}

/// Executes a client's command.
pub(super) fn dispatch(
    server: &mut Server,
    scripts: &mut ScriptEngine,
    connection: u32,
    argv: &[Bytes],
) -> Reply {
    let admitted = admit(server, connection, argv);
    if let Some(reply) = within_transaction(server, connection, argv, &admitted) {
        return reply;
    }
    let answer = admitted.and_then(|command| {
        let call = Call {
            name: command.name,
            argv,
            connection,
        };
        match command.run {
            Handler::Plain(run) => run(server, &call),
            Handler::Script(run) => run(server, scripts, &call),
        }
    });
    refused(server, answer)
}

/// What comes of a command before it runs: it is queued, or ends an open transaction.
fn within_transaction(
    server: &mut Server,
    connection: u32,
    argv: &[Bytes],
    admitted: &Result<&'static Command, Refusal>,
) -> Option<Reply> {
    let transactions = server.transactions_mut();
    match admitted {
        Ok(command) => {
            let queues = command.flags & AT_ONCE == 0 && transactions.has_begun(connection);
            queues.then(|| transactions.queue(connection, argv, command.writes()))
        }
        Err(refusal) => {
            let name = argv.first().map_or(&[][..], Vec::as_slice);
            if name.eq_ignore_ascii_case(b"exec") {
                return Some(transactions.abort(connection, &refusal.to_string()));
            }
            transactions.refuse(connection);
            None
        }
    }
}

fn refused(server: &mut Server, answer: Answer) -> Reply {
    answer.unwrap_or_else(|refusal| {
        if let Refusal::Lacks(what) = refusal {
            let what = format!("uses {what} which is not in the model");
            server.notes_mut().refuse(RefusalKind::Lacks, what);
        }
        Reply::Error(refusal.to_string())
    })
}

/// Executes a command that a script calls.
///
/// With `read_only` the script has promised to write nothing.
pub(super) fn dispatch_from_script(
    server: &mut Server,
    connection: u32,
    argv: &[Bytes],
    read_only: bool,
) -> Reply {
    let answer = admit_from_script(server, argv, read_only).and_then(|(name, run)| {
        run(
            server,
            &Call {
                name,
                argv,
                connection,
            },
        )
    });
    refused(server, answer)
}

fn admit(
    server: &mut Server,
    connection: u32,
    argv: &[Bytes],
) -> Result<&'static Command, Refusal> {
    let name = argv.first().map_or(&[][..], Vec::as_slice);
    let Some(command) = find(name, server.dialect()) else {
        lacks(server, name);
        return Err(unknown(argv));
    };
    if !command.takes(argv.len(), server.dialect()) {
        return Err(Refusal::Arity(command.name.to_owned()));
    }
    if command.name == "script" {
        scripting::Subcommand::of(argv)?;
    }
    // Redis runs them, and refuses them then.
    let begins = matches!(command.name, "multi" | "watch");
    if begins && server.dialect() == Dialect::Valkey9 && server.transactions().has_begun(connection)
    {
        return Err(Refusal::other(format!(
            "ERR Command '{}' not allowed inside a transaction",
            command.name
        )));
    }
    let ends = command.name == "exec" && server.transactions().would_write(connection);
    may_write(server, command.writes() || ends)?;
    let subscriber = server.subscriptions().any(|(_, who)| who == connection);
    if subscriber && command.flags & PUBSUB == 0 {
        return Err(Refusal::other(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / \
             RESET are allowed in this context",
            command.name
        )));
    }
    Ok(command)
}

type Plain = fn(&mut Server, &Call<'_>) -> Answer;

const LACKS: (&str, &str) = ("uses the command ", ", which is not in the model");

/// A real server may well have it.
fn lacks(server: &mut Server, name: &[u8]) {
    let name = lockproof_lua::text::printable(name).to_uppercase();
    let what = format!("{}{name}{}", LACKS.0, LACKS.1);
    server.notes_mut().refuse(RefusalKind::Lacks, what);
}

/// The command that the formal server does not have, if this refusal says so. A caller who knows the
/// commands of real servers can then tell a mistake from what is not modelled.
pub fn lacking_command(what: &str) -> Option<&str> {
    what.strip_prefix(LACKS.0)?.strip_suffix(LACKS.1)
}

fn admit_from_script(
    server: &mut Server,
    argv: &[Bytes],
    read_only: bool,
) -> Result<(&'static str, Plain), Refusal> {
    let dialect = server.dialect();
    let valkey = dialect == Dialect::Valkey9;
    let name = argv.first().map_or(&[][..], Vec::as_slice);
    let Some(command) = find(name, dialect) else {
        lacks(server, name);
        return Err(Refusal::other(if valkey {
            "ERR Unknown command called from script"
        } else {
            "ERR Unknown Redis command called from script"
        }));
    };
    if !command.takes(argv.len(), dialect) {
        return Err(Refusal::other(if valkey {
            "ERR Wrong number of args calling command from script"
        } else {
            "ERR Wrong number of args calling Redis command from script"
        }));
    }
    match command.run {
        Handler::Plain(run) if command.allowed_in_script(dialect) => {
            // PUBLISH is replicated, so read-only scripts may not send it either.
            if read_only && (command.writes() || command.name == "publish") {
                return Err(Refusal::other(
                    "ERR Write commands are not allowed from read-only scripts.",
                ));
            }
            may_write(server, command.writes())?;
            Ok((command.name, run))
        }
        _ => {
            // Newer versions answer it in a script at once.
            if command.blocks() && server.scale().is_some() {
                let name = command.name.to_uppercase();
                let what = format!("uses {name} in a script, which some servers refuse");
                server.notes_mut().refuse(RefusalKind::Lacks, what);
            }
            Err(Refusal::other(if valkey {
                "ERR This Valkey command is not allowed from script"
            } else {
                "ERR This Redis command is not allowed from script"
            }))
        }
    }
}

fn may_write(server: &Server, writes: bool) -> Result<(), Refusal> {
    match writes && server.lacks_replicas() {
        true => Err(Refusal::NoReplicas),
        false => Ok(()),
    }
}

/// Redis quotes the name and as many arguments as fit into 128 bytes.
fn unknown(argv: &[Bytes]) -> Refusal {
    let clip = |text: &[u8], room: usize| {
        String::from_utf8_lossy(&text[..text.len().min(room)]).into_owned()
    };
    let mut quoted = String::new();
    for argument in argv.iter().skip(1) {
        if quoted.len() >= 128 {
            break;
        }
        quoted += &format!("'{}' ", clip(argument, 128 - quoted.len()));
    }
    let name = argv.first().map_or(String::new(), |name| clip(name, 128));
    let line = format!("ERR unknown command '{name}', with args beginning with: {quoted}");
    Refusal::Other(line.replace(['\r', '\n'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sorted_so_that_every_command_is_found() {
        assert!(COMMANDS.is_sorted_by(|a, b| a.name < b.name));
        for command in COMMANDS {
            let upper = command.name.to_ascii_uppercase();
            assert!(
                find(upper.as_bytes(), Dialect::Valkey9).is_some(),
                "{upper}"
            );
        }
        assert!(find(b"delifeq", Dialect::Redis70).is_none());
    }
}
