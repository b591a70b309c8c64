//! What scripts can call of Redis.

use lockproof_lua::text::{self, Reading, Span, Symbol, Text};
use lockproof_lua::{self as lua, Flow, Host, Native, RefusalKind, Returned, Stop, Value, Vm};
use sha1::{Digest, Sha1};

use super::environment::{LACKING, LIBRARIES};
use super::{Flags, Sha, convert, lib};
use crate::command::dispatch_from_script;
use crate::{Bytes, Dialect, Reply, Server};

/// `cjson.null`, which is a value and no function.
pub(super) const NULL: u16 = u16::MAX;

/// A function of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Function {
    Call,
    ProtectedCall,
    Sha1Hex,
    ErrorReply,
    StatusReply,
    Log,
    SetResp,
    ReplicateCommands,
    SetRepl,
    CjsonEncode,
    CjsonDecode,
    CmsgpackPack,
    CmsgpackUnpack,
    StructPack,
    StructUnpack,
    StructSize,
    BitToBit,
    BitNot,
    BitAnd,
    BitOr,
    BitXor,
    BitLeft,
    BitRight,
    BitArithmeticRight,
    BitRotateLeft,
    BitRotateRight,
    BitSwap,
    BitToHex,
    /// Behind the globals.
    Undeclared,
    /// Behind a library.
    MissingField,
}

impl Function {
    /// Library, name, function.
    pub const ALL: [(&str, &str, Function); 28] = [
        ("redis", "call", Function::Call),
        ("redis", "pcall", Function::ProtectedCall),
        ("redis", "sha1hex", Function::Sha1Hex),
        ("redis", "error_reply", Function::ErrorReply),
        ("redis", "status_reply", Function::StatusReply),
        ("redis", "log", Function::Log),
        ("redis", "setresp", Function::SetResp),
        ("redis", "replicate_commands", Function::ReplicateCommands),
        ("redis", "set_repl", Function::SetRepl),
        ("cjson", "encode", Function::CjsonEncode),
        ("cjson", "decode", Function::CjsonDecode),
        ("cmsgpack", "pack", Function::CmsgpackPack),
        ("cmsgpack", "unpack", Function::CmsgpackUnpack),
        ("struct", "pack", Function::StructPack),
        ("struct", "unpack", Function::StructUnpack),
        ("struct", "size", Function::StructSize),
        ("bit", "tobit", Function::BitToBit),
        ("bit", "bnot", Function::BitNot),
        ("bit", "band", Function::BitAnd),
        ("bit", "bor", Function::BitOr),
        ("bit", "bxor", Function::BitXor),
        ("bit", "lshift", Function::BitLeft),
        ("bit", "rshift", Function::BitRight),
        ("bit", "arshift", Function::BitArithmeticRight),
        ("bit", "rol", Function::BitRotateLeft),
        ("bit", "ror", Function::BitRotateRight),
        ("bit", "bswap", Function::BitSwap),
        ("bit", "tohex", Function::BitToHex),
    ];

    /// As a value.
    pub fn native(self) -> Native {
        Native::plain(lua::library::HOST + self as u16)
    }

    fn of(native: Native) -> Option<Function> {
        let id = native.id.checked_sub(lua::library::HOST)?;
        let hidden = [Function::Undeclared, Function::MissingField];
        let named = Function::ALL.iter().map(|(.., function)| *function);
        named.chain(hidden).find(|function| *function as u16 == id)
    }
}

const PART_SENT: &str = "sends the seconds or the microseconds of TIME, which the model follows as a time in ms only: seconds * 1000 + math.floor(microseconds / 1000)";

/// The server that a script runs on.
pub(super) struct ScriptHost<'s> {
    pub server: &'s mut Server,
    connection: u32,
    flags: Flags,
    /// How often the script has asked TIME.
    times: u8,
}

impl<'s> ScriptHost<'s> {
    pub fn new(server: &'s mut Server, connection: u32, flags: Flags) -> ScriptHost<'s> {
        ScriptHost {
            server,
            connection,
            flags,
            times: 0,
        }
    }

    fn is_valkey(&self) -> bool {
        self.server.dialect() == Dialect::Valkey9
    }
}

impl Host for ScriptHost<'_> {
    fn call(&mut self, vm: &mut Vm<'_>, native: Native, args: Vec<Value>) -> Result<Flow, Stop> {
        let Some(function) = Function::of(native) else {
            // `cjson.null` was called.
            return Err(vm.error("attempt to call a userdata value"));
        };
        let values = match function {
            Function::Call => self.redis_call(vm, &args),
            Function::ProtectedCall => self.redis_pcall(vm, &args),
            Function::Sha1Hex => self.sha1hex(vm, &args),
            Function::ErrorReply => Ok(vec![error_reply(vm, &args)]),
            Function::StatusReply => Ok(vec![status_reply(vm, &args)]),
            Function::Log => self.log(vm, &args),
            Function::SetResp => self.setresp(vm, &args),
            Function::ReplicateCommands => Ok(vec![Value::Bool(true)]),
            Function::SetRepl => self.set_repl(vm, &args),
            Function::CjsonEncode => lib::cjson::encode(vm, &args),
            Function::CjsonDecode => lib::cjson::decode(vm, &args),
            Function::CmsgpackPack => lib::cmsgpack::pack(vm, &args),
            Function::CmsgpackUnpack => lib::cmsgpack::unpack(vm, &args),
            Function::StructPack => lib::structs::pack(vm, &args),
            Function::StructUnpack => lib::structs::unpack(vm, &args),
            Function::StructSize => lib::structs::size(vm, &args),
            Function::Undeclared => self.undeclared(vm, &args),
            Function::MissingField => missing_field(vm, native, &args),
            bit => lib::bit::call(vm, bit, &args),
        };
        values.map(Flow::Give)
    }
}

impl ScriptHost<'_> {
    /// Executes a script's command; the error is what is wrong with the call itself.
    fn execute(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Result<Result<Reply, String>, Stop> {
        let dialect = self.server.dialect();
        if words.is_empty() {
            return Ok(Err(if self.is_valkey() {
                "ERR Please specify at least one argument for this call".to_owned()
            } else {
                "ERR Please specify at least one argument for this redis lib call".to_owned()
            }));
        }
        let mut argv: Vec<Bytes> = Vec::with_capacity(words.len());
        for word in words {
            let argument = convert::argument(vm.machine, word, dialect);
            match argument.map_err(|stop| vm.at_line(stop))? {
                Some(word) => argv.push(word),
                None => {
                    return Ok(Err(if self.is_valkey() {
                        "ERR Command arguments must be strings or integers".to_owned()
                    } else {
                        "ERR Lua redis lib command arguments must be strings or integers".to_owned()
                    }));
                }
            }
        }
        let words = argv.iter().map(|word| word.len() as u64 / 16);
        vm.charge(20 + words.sum::<u64>() + self.server.work_on(&argv))?;
        if argv.iter().any(|word| text::has_part(word)) {
            return Err(vm.refuse(RefusalKind::Digits, PART_SENT));
        }
        if let Some(reply) = self.symbolic_time(&argv) {
            return Ok(Ok(reply));
        }
        let read_only = self.flags.no_writes;
        let reply = dispatch_from_script(self.server, self.connection, &argv, read_only);
        vm.allocate(size_of(&reply))?;
        if let Some((refusal, false)) = &self.server.notes_mut().refusal {
            let refusal = refusal.clone();
            return Err(vm.at_line(Stop::Refused(refusal)));
        }
        Ok(Ok(reply))
    }

    /// TIME in a server of a model: two symbols, which together are a moment.
    fn symbolic_time(&mut self, argv: &[Bytes]) -> Option<Reply> {
        let scale = self.server.scale()?;
        let [name] = argv else {
            return None;
        };
        if !name.eq_ignore_ascii_case(b"time") {
            return None;
        }
        self.server.notes_mut().clock = true;
        let answer = self.times;
        self.times = self.times.saturating_add(1);
        let offset = self.server.now_ms() - self.server.present_ms();
        let at = Span {
            ms: 0,
            // The server's clock is off by whole ticks.
            ticks: (offset / scale.step_ms.max(1)) as i32,
        };
        // Whether it is like another reading of its tick is open, whosever that is.
        let reading = Reading::kept(self.connection as u8).twin();
        let part = |seconds| {
            Reply::Bulk(
                Symbol::Part {
                    seconds,
                    answer,
                    at,
                    reading,
                }
                .text(),
            )
        };
        Some(Reply::Array(vec![part(true), part(false)]))
    }

    /// `redis.call`: an error reply is raised.
    fn redis_call(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        match self.execute(vm, words)? {
            Ok(Reply::Error(line)) | Err(line) => Err(raised(vm, &line)),
            Ok(reply) => Ok(vec![convert::to_lua(vm.machine, reply)]),
        }
    }

    /// `redis.pcall`: an error reply is a table.
    fn redis_pcall(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        let reply = self.execute(vm, words)?.unwrap_or_else(Reply::Error);
        Ok(vec![convert::to_lua(vm.machine, reply)])
    }

    fn sha1hex(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        let [word] = words else {
            return Err(raised(vm, "ERR wrong number of arguments"));
        };
        let text = vm.part(word)?.unwrap_or_else(|| Text::from(""));
        let Some(plain) = text.as_plain() else {
            return Err(vm.refuse(
                RefusalKind::Names,
                "takes the hash of a text with a token, an owner or a time in it",
            ));
        };
        vm.charge(plain.len() as u64)?;
        let sha = Sha(Sha1::digest(plain).into());
        Ok(vec![Value::text(sha.to_string())])
    }

    /// `redis.log` checks its arguments; there is no log to write to.
    fn log(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        if words.len() < 2 {
            return Err(raised(
                vm,
                if self.is_valkey() {
                    "ERR server.log() requires two arguments or more."
                } else {
                    "ERR redis.log() requires two arguments or more."
                },
            ));
        }
        let Value::Number(level) = words[0] else {
            return Err(raised(
                vm,
                "ERR First argument must be a number (log level).",
            ));
        };
        if !(0.0..4.0).contains(&level.trunc()) {
            return Err(raised(
                vm,
                if self.server.dialect() == Dialect::Redis70 {
                    "ERR Invalid debug level."
                } else {
                    "ERR Invalid log level."
                },
            ));
        }
        Ok(Vec::new())
    }

    /// `redis.setresp`: the model speaks RESP2 only.
    fn setresp(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        let [version] = words else {
            let library = if self.is_valkey() { "server" } else { "redis" };
            return Err(raised(
                vm,
                &format!("ERR {library}.setresp() requires one argument."),
            ));
        };
        match known_number(vm, version)?.map(f64::trunc) {
            Some(2.0) => Ok(Vec::new()),
            Some(3.0) => Err(vm.refuse(RefusalKind::Lacks, "uses RESP3 (redis.setresp(3))")),
            _ => Err(raised(vm, "ERR RESP version must be 2 or 3.")),
        }
    }

    /// What a script keeps from its replicas is not in the model.
    fn set_repl(&mut self, vm: &mut Vm<'_>, words: &[Value]) -> Returned {
        match words {
            [Value::Number(3.0)] => Ok(Vec::new()),
            _ => Err(vm.refuse(
                RefusalKind::Lacks,
                "keeps its commands from replicas or from the disk (redis.set_repl)",
            )),
        }
    }

    fn undeclared(&mut self, vm: &mut Vm<'_>, args: &[Value]) -> Returned {
        let name = shown(args.get(1));
        if let Some((_, what)) = LACKING.iter().find(|(known, _)| *known == name) {
            return Err(vm.refuse(RefusalKind::Lacks, format!("uses {what}")));
        }
        Err(vm.error(format!(
            "Script attempted to access nonexistent global variable '{name}'"
        )))
    }
}

/// A field that a library does not have is nil, unless a real one has it.
fn missing_field(vm: &mut Vm<'_>, native: Native, args: &[Value]) -> Returned {
    let name = shown(args.get(1));
    let library = LIBRARIES.get(usize::from(native.node));
    let whole = format!("{}.{name}", library.unwrap_or(&""));
    match LACKING.iter().find(|(known, _)| *known == whole) {
        Some((_, what)) => Err(vm.refuse(RefusalKind::Lacks, format!("uses {what}"))),
        None => Ok(vec![Value::Nil]),
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => String::from_utf8_lossy(text.bytes()).into_owned(),
        Some(Value::Number(number)) => lua::number::to_text(*number),
        Some(other) => other.type_name().to_owned(),
        None => "nil".to_owned(),
    }
}

fn known_number(vm: &Vm<'_>, value: &Value) -> Result<Option<f64>, Stop> {
    Ok(match vm.number(value)? {
        Some(Value::Number(number)) => Some(number),
        _ => None,
    })
}

/// An error of Redis's own: a table with its line.
pub(super) fn raised(vm: &mut Vm<'_>, line: &str) -> Stop {
    let value = convert::field(vm.machine, "err", line.as_bytes());
    Stop::Raised {
        value,
        line: vm.line(),
    }
}

fn size_of(reply: &Reply) -> usize {
    16 + match reply {
        Reply::Bulk(text) => text.len(),
        Reply::Array(items) => items.iter().map(size_of).sum(),
        _ => 0,
    }
}

/// `redis.error_reply`: a text without a space gets the code `ERR`; a leading
/// `-` is dropped.
fn error_reply(vm: &mut Vm<'_>, words: &[Value]) -> Value {
    let [Value::Text(text)] = words else {
        return convert::field(vm.machine, "err", b"ERR wrong number or type of arguments");
    };
    let text = vm.machine.outgoing(text);
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    if text.contains(&b' ') {
        convert::field(vm.machine, "err", text)
    } else {
        convert::field(vm.machine, "err", &[b"ERR ", text].concat())
    }
}

fn status_reply(vm: &mut Vm<'_>, words: &[Value]) -> Value {
    match words {
        [Value::Text(text)] => {
            let text: Text = text.clone();
            let text = vm.machine.outgoing(&text);
            convert::field(vm.machine, "ok", &text)
        }
        _ => convert::field(vm.machine, "err", b"ERR wrong number or type of arguments"),
    }
}
