//! Lua 5.1's library, as far as scripts and lock files see it.
//!
//! One list: a function's number is its place there. Who builds an environment
//! picks names out of it.

mod base;
mod format;
mod math;
mod pattern;
mod string;
mod table;

use std::sync::Arc;

use super::error::{RefusalKind, Returned, Stop};
use super::heap::{Heap, Key, Table};
use super::number;
use super::text::Text;
use super::value::{Native, TableId, Value};
use super::vm::{Host, Running, Vm};

pub(super) type Function = fn(&mut Vm<'_>, &mut dyn Host, Vec<Value>) -> Returned;

/// Library, name, function. Names in parentheses are nobody's: functions that
/// others hand out.
const LIBRARY: &[(&str, &str, Function)] = &[
    ("", "assert", base::assert),
    ("", "error", base::error),
    ("", "getmetatable", base::getmetatable),
    ("", "ipairs", base::ipairs),
    ("", "next", base::next),
    ("", "pairs", base::pairs),
    ("", "pcall", base::pcall),
    ("", "rawequal", base::rawequal),
    ("", "rawget", base::rawget),
    ("", "rawset", base::rawset),
    ("", "select", base::select),
    ("", "setmetatable", base::setmetatable),
    ("", "tonumber", base::tonumber),
    ("", "tostring", base::tostring),
    ("", "type", base::type_of),
    ("", "unpack", base::unpack),
    ("", "xpcall", base::xpcall),
    ("", "(ipairs)", base::ipairs_next),
    ("", "(pairs)", base::pairs_next),
    ("string", "byte", string::byte),
    ("string", "char", string::char),
    ("string", "find", string::find),
    ("string", "format", format::format),
    ("string", "gmatch", string::gmatch),
    ("string", "gsub", string::gsub),
    ("string", "len", string::len),
    ("string", "lower", string::lower),
    ("string", "match", string::matches),
    ("string", "rep", string::rep),
    ("string", "reverse", string::reverse),
    ("string", "sub", string::sub),
    ("string", "upper", string::upper),
    ("string", "(gmatch)", string::gmatch_next),
    ("table", "concat", table::concat),
    ("table", "foreach", table::foreach),
    ("table", "foreachi", table::foreachi),
    ("table", "getn", table::getn),
    ("table", "insert", table::insert),
    ("table", "maxn", table::maxn),
    ("table", "remove", table::remove),
    ("table", "sort", table::sort),
    ("math", "abs", math::abs),
    ("math", "acos", math::acos),
    ("math", "asin", math::asin),
    ("math", "atan", math::atan),
    ("math", "atan2", math::atan2),
    ("math", "ceil", math::ceil),
    ("math", "cos", math::cos),
    ("math", "cosh", math::cosh),
    ("math", "deg", math::deg),
    ("math", "exp", math::exp),
    ("math", "floor", math::floor),
    ("math", "fmod", math::fmod),
    ("math", "frexp", math::frexp),
    ("math", "ldexp", math::ldexp),
    ("math", "log", math::log),
    ("math", "log10", math::log10),
    ("math", "max", math::max),
    ("math", "min", math::min),
    ("math", "mod", math::fmod),
    ("math", "modf", math::modf),
    ("math", "pow", math::pow),
    ("math", "rad", math::rad),
    ("math", "sin", math::sin),
    ("math", "sinh", math::sinh),
    ("math", "sqrt", math::sqrt),
    ("math", "tan", math::tan),
    ("math", "tanh", math::tanh),
];

/// Numbers from here on are the host's.
pub const HOST: u16 = 1000;

/// The function with this number.
pub(super) fn function(id: u16) -> Option<Function> {
    LIBRARY.get(usize::from(id)).map(|(.., function)| *function)
}

/// A function of the library as a value.
pub fn native(library: &str, name: &str) -> Option<Native> {
    let found = LIBRARY
        .iter()
        .position(|(l, n, _)| *l == library && *n == name)?;
    Some(Native::plain(found as u16))
}

/// Names of a library's functions.
pub fn names(library: &str) -> impl Iterator<Item = &'static str> + '_ {
    LIBRARY
        .iter()
        .filter(move |(l, name, _)| *l == library && !name.starts_with('('))
        .map(|(_, name, _)| *name)
}

/// A table with all functions of a library, but for those in `without`; `math`
/// with its constants.
pub fn table(heap: &mut Heap, library: &str, without: &[&str]) -> TableId {
    let mut table = Table::default();
    for name in names(library).filter(|name| !without.contains(name)) {
        if let Some(native) = native(library, name) {
            table.set(Key::Text(Text::from(name)), Value::Native(native));
        }
    }
    if library == "math" {
        let pi = Value::Number(std::f64::consts::PI);
        table.set(Key::Text(Text::from("pi")), pi);
        let huge = Value::Number(f64::INFINITY);
        table.set(Key::Text(Text::from("huge")), huge);
    }
    heap.table(table)
}

/// Arguments of functions, by their numbers from 1. Each of these fails with the
/// words of Lua's own library, or with a refusal.
impl Vm<'_> {
    /// An argument that is not what it should be; counted from 1.
    pub fn bad_argument(&self, number: usize, what: &str) -> Stop {
        let (sort, name) = match &self.running {
            Running::Native(Some((sort, name))) => (*sort, name.as_str()),
            _ => ("", "?"),
        };
        // A method's first argument is what it is called on.
        let number = match sort {
            "method" if number == 1 => {
                return self.error(format!("calling '{name}' on bad self ({what})"));
            }
            "method" => number.saturating_sub(1),
            _ => number,
        };
        self.error(format!("bad argument #{number} to '{name}' ({what})"))
    }

    pub(crate) fn expected(&self, args: &[Value], number: usize, what: &str) -> Stop {
        let got = args
            .get(number - 1)
            .map_or("no value", |value| self.type_of(value));
        self.bad_argument(number, &format!("{what} expected, got {got}"))
    }

    /// The argument with this number, `nil` too.
    pub fn any(&self, args: &[Value], number: usize) -> Result<Value, Stop> {
        match args.get(number - 1) {
            Some(value) => Ok(value.clone()),
            None => Err(self.bad_argument(number, "value expected")),
        }
    }

    pub fn table_arg(&self, args: &[Value], number: usize) -> Result<TableId, Stop> {
        match args.get(number - 1) {
            Some(Value::Table(id)) => Ok(*id),
            _ => Err(self.expected(args, number, "table")),
        }
    }

    pub fn function_arg(&self, args: &[Value], number: usize) -> Result<Value, Stop> {
        match args.get(number - 1) {
            Some(value @ (Value::Function(_) | Value::Native(_))) => Ok(value.clone()),
            _ => Err(self.expected(args, number, "function")),
        }
    }

    /// A number, a time or what else the model has for one.
    pub fn numeric(&self, args: &[Value], number: usize) -> Result<Value, Stop> {
        let found = match args.get(number - 1) {
            Some(value) => self.number(value)?,
            None => None,
        };
        found.ok_or_else(|| self.expected(args, number, "number"))
    }

    /// A number that is known.
    pub fn number_arg(&self, args: &[Value], number: usize) -> Result<f64, Stop> {
        match self.numeric(args, number)? {
            Value::Number(value) => Ok(value),
            Value::Offset(_) => Err(self.refuse(RefusalKind::Names, super::arith::MEASURES)),
            Value::Part(_) => Err(self.refuse(RefusalKind::Digits, super::parts::PARTS)),
            Value::Beyond(_) => Err(self.refuse(RefusalKind::Horizon, super::arith::UNKNOWN)),
            _ => Err(self.refuse(
                RefusalKind::Digits,
                "does more with a time or a measured duration than to compare it, to subtract it or to move it by ms",
            )),
        }
    }

    /// The same as a C integer, with a default if there is none.
    pub fn integer(
        &self,
        args: &[Value],
        number: usize,
        default: Option<i64>,
    ) -> Result<i64, Stop> {
        match (args.get(number - 1), default) {
            (None | Some(Value::Nil), Some(default)) => Ok(default),
            _ => Ok(number::to_i64(self.number_arg(args, number)?)),
        }
    }

    /// The same cut to a C int.
    pub fn int(&self, args: &[Value], number: usize, default: Option<i64>) -> Result<i64, Stop> {
        let value = self.integer(args, number, default)?;
        match (args.get(number - 1), default) {
            (None | Some(Value::Nil), Some(default)) => Ok(default),
            _ => Ok(i64::from(value as i32)),
        }
    }

    pub fn text_arg(&self, args: &[Value], number: usize) -> Result<Text, Stop> {
        let text = match args.get(number - 1) {
            Some(value) => self.part(value)?,
            None => None,
        };
        text.ok_or_else(|| self.expected(args, number, "string"))
    }

    /// A text whose letters are asked for.
    pub fn letters(&self, text: &Text, does: &str) -> Result<Arc<[u8]>, Stop> {
        match text.as_plain() {
            Some(plain) => Ok(plain.into()),
            None => Err(self.refuse(
                RefusalKind::Names,
                format!("{does} a text that has a token, an owner or a time in it"),
            )),
        }
    }

    pub fn plain_arg(&self, args: &[Value], number: usize, does: &str) -> Result<Arc<[u8]>, Stop> {
        let text = self.text_arg(args, number)?;
        self.letters(&text, does)
    }
}

/// An optional argument is there.
pub(super) fn given(args: &[Value], number: usize) -> bool {
    !matches!(args.get(number - 1), None | Some(Value::Nil))
}
