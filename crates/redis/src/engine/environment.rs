//! The names that a script sees.

use lockproof_lua::text::Text;
use lockproof_lua::{Key, Machine, Native, Table, TableId, Value, library};

use super::host::Function;

/// What real servers have and the model has not, each with what it is.
pub(super) const LACKING: &[(&str, &str)] = &[
    ("collectgarbage", "the function collectgarbage"),
    ("coroutine", "coroutines"),
    ("gcinfo", "the function gcinfo"),
    ("load", "the function load"),
    ("loadstring", "the function loadstring"),
    ("newproxy", "the function newproxy"),
    // Some versions have them, and some answer with an error.
    ("os", "the library os"),
    ("server", "the table server"),
    ("math.random", "the function math.random"),
    ("math.randomseed", "the function math.randomseed"),
    ("string.dump", "the function string.dump"),
    ("table.setn", "the function table.setn"),
    ("redis.acl_check_cmd", "the function redis.acl_check_cmd"),
    ("redis.breakpoint", "the function redis.breakpoint"),
    ("redis.debug", "the function redis.debug"),
    (
        "redis.REDIS_VERSION",
        "redis.REDIS_VERSION, which differs between servers",
    ),
    (
        "redis.REDIS_VERSION_NUM",
        "redis.REDIS_VERSION_NUM, which differs between servers",
    ),
    (
        "redis.VALKEY_VERSION",
        "redis.VALKEY_VERSION, which differs between servers",
    ),
    (
        "redis.VALKEY_VERSION_NUM",
        "redis.VALKEY_VERSION_NUM, which differs between servers",
    ),
    (
        "redis.SERVER_NAME",
        "redis.SERVER_NAME, which differs between servers",
    ),
    ("cjson.decode_invalid_numbers", "settings of cjson"),
    ("cjson.decode_max_depth", "settings of cjson"),
    ("cjson.encode_invalid_numbers", "settings of cjson"),
    ("cjson.encode_keep_buffer", "settings of cjson"),
    ("cjson.encode_max_depth", "settings of cjson"),
    ("cjson.encode_number_precision", "settings of cjson"),
    ("cjson.encode_sparse_array", "settings of cjson"),
    ("cjson.new", "settings of cjson"),
    ("cmsgpack.unpack_limit", "cmsgpack.unpack_limit"),
    ("cmsgpack.unpack_one", "cmsgpack.unpack_one"),
];

/// The libraries, in the order in which their tables are made.
pub(super) const LIBRARIES: [&str; 8] = [
    "string", "table", "math", "redis", "bit", "cjson", "cmsgpack", "struct",
];

/// Gives a machine all that a script sees but its keys and arguments.
pub(super) fn furnish(machine: &mut Machine) {
    let mut tables = Vec::new();
    for name in library::names("") {
        if let Some(native) = library::native("", name) {
            machine.set_global(name, Value::Native(native));
        }
    }
    for library in &LIBRARIES[..3] {
        let table = library::table(&mut machine.heap, library, &[]);
        tables.push((*library, table));
        if *library == "string" {
            machine.text_methods = table;
            // An old name of the same function.
            if let Some(gmatch) = library::native("string", "gmatch") {
                machine.set_field(table, "gfind", Value::Native(gmatch));
            }
        }
    }
    for library in &LIBRARIES[3..] {
        tables.push((*library, machine.heap.table(Table::default())));
    }
    for (library, name, function) in Function::ALL {
        if let Some((_, table)) = tables.iter().find(|(known, _)| *known == library) {
            machine.set_field(*table, name, Value::Native(function.native()));
        }
    }
    constants(machine, &tables);
    for (index, (name, table)) in tables.iter().enumerate() {
        guard(machine, *table, Function::MissingField, index as u16);
        machine.set_global(name, Value::Table(*table));
    }
    machine.set_global("_VERSION", Value::text("Lua 5.1"));
    let globals = machine.globals;
    guard(machine, globals, Function::Undeclared, 0);
}

/// The globals of one run: its keys and arguments, and behind them what all runs
/// share.
pub(super) fn set_arguments(
    machine: &mut Machine,
    keys: TableId,
    arguments: TableId,
    meta: TableId,
) {
    let mut table = Table {
        meta: Some(meta),
        locked: true,
        ..Table::default()
    };
    let text = |name: &str| Key::Text(Text::from(name));
    table.set(text("KEYS"), Value::Table(keys));
    table.set(text("ARGV"), Value::Table(arguments));
    let globals = machine.heap.table(table);
    if let Some(table) = machine.heap.get_mut(globals) {
        table.set(text("_G"), Value::Table(globals));
    }
    machine.globals = globals;
}

/// The metatable that leads from the globals of a run to those that all share.
pub(super) fn behind(machine: &mut Machine) -> TableId {
    let mut meta = Table::default();
    let shared = Value::Table(machine.globals);
    meta.set(Key::Text(Text::from("__index")), shared);
    meta.set(Key::Text(Text::from("__metatable")), Value::Bool(false));
    machine.heap.table(meta)
}

/// Reading what is not in a table asks a function of the host.
fn guard(machine: &mut Machine, table: TableId, function: Function, library: u16) {
    let mut meta = Table::default();
    let native = Value::Native(Native {
        node: library,
        ..function.native()
    });
    meta.set(Key::Text(Text::from("__index")), native);
    meta.set(Key::Text(Text::from("__metatable")), Value::Bool(false));
    let meta = machine.heap.table(meta);
    if let Some(table) = machine.heap.get_mut(table) {
        table.meta = Some(meta);
    }
}

fn constants(machine: &mut Machine, tables: &[(&str, TableId)]) {
    let numbers = [
        ("LOG_DEBUG", 0.0),
        ("LOG_VERBOSE", 1.0),
        ("LOG_NOTICE", 2.0),
        ("LOG_WARNING", 3.0),
        ("REPL_NONE", 0.0),
        ("REPL_AOF", 1.0),
        ("REPL_SLAVE", 2.0),
        ("REPL_REPLICA", 2.0),
        ("REPL_ALL", 3.0),
    ];
    for (library, table) in tables {
        match *library {
            "redis" => {
                for (name, value) in numbers {
                    machine.set_field(*table, name, Value::Number(value));
                }
            }
            "cjson" => {
                let null = Value::Native(Native::plain(super::host::NULL));
                machine.set_field(*table, "null", null);
                machine.set_field(*table, "_NAME", Value::text("cjson"));
                machine.set_field(*table, "_VERSION", Value::text("2.1.0"));
            }
            "cmsgpack" => {
                machine.set_field(*table, "_NAME", Value::text("cmsgpack"));
                machine.set_field(*table, "_VERSION", Value::text("lua-cmsgpack 0.4.0"));
            }
            _ => {}
        }
    }
}
