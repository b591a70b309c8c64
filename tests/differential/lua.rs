//! The project's own Lua against the reference implementation: the same programs
//! on both, equal results and equal messages.
//!
//! Stock Lua 5.1 comes with `mlua`, which only this test uses.

mod generate;

use std::sync::Arc;

use lockproof_lua::{self as lua, Code, Machine, NoHost, Pause, Stop, Thread, Value, Vm};
use mlua::{Lua, StdLib};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What a program gave: values, or an error; as a text to compare.
fn ours(source: &str) -> String {
    let code = match Code::compile("t", source.as_bytes()) {
        Ok(code) => code,
        Err(error) => return format!("syntax: t:{}: {}", error.line, error.message),
    };
    let mut machine = Machine::new(Arc::new(code));
    for name in lua::library::names("") {
        let native = lua::library::native("", name).unwrap();
        machine.set_global(name, Value::Native(native));
    }
    for library in ["string", "table", "math"] {
        let table = lua::library::table(&mut machine.heap, library, &[]);
        machine.set_global(library, Value::Table(table));
        if library == "string" {
            machine.text_methods = table;
        }
    }
    let main = machine.main();
    let mut thread = Thread::new(main, Vec::new());
    let result = Vm::new(&mut machine, &mut thread).resume(&mut NoHost, Vec::new());
    match result {
        Ok(Pause::Ended { values, .. }) => {
            let values: Vec<String> = values.iter().map(|v| show_ours(&machine, v, 0)).collect();
            format!("values: {}", values.join(", "))
        }
        Ok(other) => format!("pause: {other:?}"),
        Err(Stop::Raised { value, .. }) => format!("error: {}", show_ours(&machine, &value, 0)),
        Err(Stop::Refused(refusal)) => format!("refused: {refusal}"),
    }
}

fn show_ours(machine: &Machine, value: &Value, depth: usize) -> String {
    match value {
        Value::Nil => "nil".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_text(*number),
        Value::Text(text) => format!("{:?}", String::from_utf8_lossy(text.bytes())),
        Value::Table(_) if depth > 4 => "{..}".into(),
        Value::Table(id) => {
            let table = machine.heap.get(*id);
            let mut parts = Vec::new();
            let mut entry = table.after(None);
            while let Some((key, value)) = entry {
                parts.push(format!(
                    "[{}]={}",
                    show_ours(machine, &key.value(), depth + 1),
                    show_ours(machine, &value, depth + 1)
                ));
                entry = table.after(Some(&key));
            }
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        _ => "function".into(),
    }
}

fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    format!("{number:?}")
}

fn theirs(source: &str) -> String {
    let lua = Lua::new_with(
        StdLib::STRING | StdLib::TABLE | StdLib::MATH,
        mlua::LuaOptions::new().catch_rust_panics(false),
    )
    .unwrap();
    // Nothing that hangs or shows an address.
    let left = std::sync::atomic::AtomicU32::new(200);
    lua.set_global_hook(
        mlua::HookTriggers::new().every_nth_instruction(10_000),
        move |_, _| match left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
            0..2 => Err(mlua::Error::runtime("runs for ever")),
            _ => Ok(mlua::VmState::Continue),
        },
    )
    .unwrap();
    let chunk = lua.load(source).set_name("=t").into_function();
    let function = match chunk {
        Ok(function) => function,
        Err(mlua::Error::SyntaxError { message, .. }) => return format!("syntax: {message}"),
        Err(other) => return format!("syntax? {other}"),
    };
    let protected: mlua::Function = lua
        .load("local f = ... return function() return xpcall(f, function(e) return {e} end) end")
        .call(function)
        .unwrap();
    match protected.call::<mlua::MultiValue>(()) {
        Ok(values) => {
            let mut values = values.into_iter();
            let ok = matches!(values.next(), Some(mlua::Value::Boolean(true)));
            if !ok {
                let boxed = values.next().unwrap_or(mlua::Value::Nil);
                let error = match boxed {
                    mlua::Value::Table(table) => table.raw_get(1).unwrap(),
                    other => other,
                };
                return format!("error: {}", show_theirs(&error, 0));
            }
            let values: Vec<String> = values.map(|v| show_theirs(&v, 0)).collect();
            format!("values: {}", values.join(", "))
        }
        Err(error) => format!("error? {error}"),
    }
}

fn show_theirs(value: &mlua::Value, depth: usize) -> String {
    match value {
        mlua::Value::Nil => "nil".into(),
        mlua::Value::Boolean(value) => value.to_string(),
        mlua::Value::Integer(number) => number_text(*number as f64),
        mlua::Value::Number(number) => number_text(*number),
        mlua::Value::String(text) => format!("{:?}", text.to_string_lossy()),
        mlua::Value::Table(_) if depth > 4 => "{..}".into(),
        mlua::Value::Table(table) => {
            let pairs = table.pairs::<mlua::Value, mlua::Value>();
            let mut parts: Vec<String> = pairs
                .map(|pair| {
                    let (key, value) = pair.unwrap();
                    let key = show_theirs(&key, depth + 1);
                    format!("[{key}]={}", show_theirs(&value, depth + 1))
                })
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        mlua::Value::Error(error) => format!("native {error}"),
        _ => "function".into(),
    }
}

#[test]
fn corpus_programs_give_what_stock_lua_gives() {
    let corpus = include_str!("lua/corpus.lua");
    let mut wrong = Vec::new();
    for source in corpus.split("\n----\n") {
        let (ours, theirs) = (ours(source), theirs(source));
        if ours != theirs {
            wrong.push(format!("{source}\n  ours:   {ours}\n  theirs: {theirs}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// `LUA_PROGRAMS` asks for more than the default.
#[test]
fn random_programs_give_what_stock_lua_gives() {
    let programs = std::env::var("LUA_PROGRAMS").map_or(6_000, |n| n.parse().unwrap());
    let seed = std::env::var("LUA_SEED").map_or(1, |n| n.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut wrong = Vec::new();
    let (mut compared, mut other_names) = (0, 0);
    for number in 0..programs {
        let source = generate::program(&mut random);
        let ours = ours(&source);
        if ours.starts_with("refused") {
            continue;
        }
        let theirs = theirs(&source);
        compared += 1;
        if ours != theirs && generate::without_names(&ours) == generate::without_names(&theirs) {
            other_names += 1;
            continue;
        }
        if ours != theirs && !generate::is_known_difference(&ours, &theirs) {
            wrong.push(format!(
                "program {number} of seed {seed}:\n{source}\n  ours:   {ours}\n  theirs: {theirs}"
            ));
        }
        if wrong.len() > 5 {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(
        other_names * 500 <= compared,
        "{other_names} of {compared} name another operand"
    );
    assert!(
        compared * 10 > programs * 8,
        "only {compared} of {programs} were comparable"
    );
}
