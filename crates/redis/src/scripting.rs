//! EVAL, EVALSHA and SCRIPT.
//!
//! The server remembers the text of every script that it ran or loaded, and
//! loses it at a restart; that is how a client comes to see NOSCRIPT. Compiled
//! functions are the [`ScriptEngine`]'s, which is no part of the state.

use super::call::{Answer, Call};
use super::engine::{Job, ScriptEngine, Sha, says_that_it_writes};
use super::number::parse_i64;
use super::refusal::Refusal;
use super::server::Dialect;
use super::{Bytes, Reply, Server};

pub(super) fn eval(server: &mut Server, engine: &mut ScriptEngine, call: &Call<'_>) -> Answer {
    let source = &call.argv[1];
    replicas_suffice(server, source)?;
    let (keys, args) = split(&call.argv[2..])?;
    let sha = Sha::of(source);
    let dialect = server.dialect();
    engine
        .compile(&sha, source, dialect)
        .map_err(Refusal::Other)?;
    server.remember_script(sha, source);
    let job = Job {
        sha,
        source,
        keys,
        args,
        connection: call.connection,
    };
    Ok(engine.run(server, &job))
}

/// NOREPLICAS, for a script that says that it may write.
fn replicas_suffice(server: &Server, source: &[u8]) -> Result<(), Refusal> {
    match says_that_it_writes(source, server.dialect()) && server.lacks_replicas() {
        true => Err(Refusal::NoReplicas),
        false => Ok(()),
    }
}

/// What cannot be a name is refused before the numbers of keys are looked at,
/// an unknown name after.
pub(super) fn evalsha(server: &mut Server, engine: &mut ScriptEngine, call: &Call<'_>) -> Answer {
    let unknown = || {
        Refusal::other(match server.dialect() {
            Dialect::Valkey9 => "NOSCRIPT No matching script.",
            _ => "NOSCRIPT No matching script. Please use EVAL.",
        })
    };
    let name = &call.argv[1];
    if name.len() != Sha::DIGITS {
        return Err(unknown());
    }
    let known = Sha::parse(name).and_then(|sha| Some((sha, server.script(&sha)?)));
    if let Some((_, source)) = &known {
        replicas_suffice(server, source)?;
    }
    let (keys, args) = split(&call.argv[2..])?;
    let (sha, source) = known.ok_or_else(unknown)?;
    let job = Job {
        sha,
        source: &source,
        keys,
        args,
        connection: call.connection,
    };
    Ok(engine.run(server, &job))
}

/// Splits `numkeys key... arg...`.
fn split(words: &[Bytes]) -> Result<(&[Bytes], &[Bytes]), Refusal> {
    let (count, rest) = words.split_first().ok_or(Refusal::Syntax)?;
    let count = parse_i64(count).ok_or(Refusal::NotAnInteger)?;
    match usize::try_from(count) {
        Err(_) => Err(Refusal::other("ERR Number of keys can't be negative")),
        Ok(count) => rest.split_at_checked(count).ok_or_else(|| {
            Refusal::other("ERR Number of keys can't be greater than number of args")
        }),
    }
}

/// What SCRIPT is asked for.
pub(super) enum Subcommand<'a> {
    Load(&'a Bytes),
    Exists(&'a [Bytes]),
    Flush(&'a [Bytes]),
}

impl Subcommand<'_> {
    /// Of these words of a SCRIPT. Servers refuse what is none before they look at anything
    /// else, so also where they would queue it.
    pub fn of(argv: &[Bytes]) -> Result<Subcommand<'_>, Refusal> {
        let arity = |name: &str| Err(Refusal::Arity(format!("script|{name}")));
        let arguments = &argv[2..];
        match argv[1].to_ascii_lowercase().as_slice() {
            b"load" => match arguments {
                [source] => Ok(Subcommand::Load(source)),
                _ => arity("load"),
            },
            b"exists" if arguments.is_empty() => arity("exists"),
            b"exists" => Ok(Subcommand::Exists(arguments)),
            b"flush" => Ok(Subcommand::Flush(arguments)),
            _ => {
                let name = String::from_utf8_lossy(&argv[1]);
                Err(Refusal::other(format!(
                    "ERR unknown subcommand '{name}'. Try SCRIPT HELP."
                )))
            }
        }
    }
}

pub(super) fn script(server: &mut Server, engine: &mut ScriptEngine, call: &Call<'_>) -> Answer {
    match Subcommand::of(call.argv)? {
        Subcommand::Load(source) => {
            let sha = Sha::of(source);
            let dialect = server.dialect();
            engine
                .compile(&sha, source, dialect)
                .map_err(Refusal::Other)?;
            server.remember_script(sha, source);
            Ok(Reply::Bulk(sha.to_string().into_bytes()))
        }
        Subcommand::Exists(names) => {
            let known = |text: &Bytes| {
                let found = Sha::parse(text).and_then(|sha| server.script(&sha));
                Reply::Int(i64::from(found.is_some()))
            };
            Ok(Reply::Array(names.iter().map(known).collect()))
        }
        Subcommand::Flush(how) => {
            match how {
                [] => {}
                [how]
                    if how.eq_ignore_ascii_case(b"sync") || how.eq_ignore_ascii_case(b"async") => {}
                _ => {
                    return Err(Refusal::other(
                        "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
                    ));
                }
            }
            server.forget_scripts();
            Ok(Reply::Status("OK".to_owned()))
        }
    }
}
