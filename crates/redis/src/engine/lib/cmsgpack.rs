//! `cmsgpack`: MessagePack as lua-cmsgpack 0.4 reads and writes it.

use lockproof_lua::text::Text;
use lockproof_lua::{Key, RefusalKind, Returned, Stop, Table, Value, Vm, number};

/// Tables deeper than this are written as nil.
const DEPTH_MAX: usize = 16;

pub(in super::super) fn pack(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    if args.is_empty() {
        return Err(vm.bad_argument(0, "MessagePack pack needs input."));
    }
    let mut out = Vec::new();
    for value in args {
        write(vm, value, 0, &mut out)?;
    }
    vm.allocate(out.len())?;
    Ok(vec![Value::text(out)])
}

fn write(vm: &mut Vm<'_>, value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    vm.charge(2)?;
    match value {
        Value::Text(text) => match text.as_plain() {
            Some(bytes) => write_text(bytes, out),
            None => return Err(super::measured(vm)),
        },
        Value::Bool(value) => out.push(0xc2 + u8::from(*value)),
        Value::Number(number) => write_number(*number, out),
        Value::Table(_) if depth == DEPTH_MAX => out.push(0xc0),
        Value::Table(id) => {
            let table = vm.machine.heap.get(*id).clone();
            write_table(vm, &table, depth + 1, out)?;
        }
        Value::Time(_)
        | Value::Duration(_)
        | Value::Beyond(_)
        | Value::Offset(_)
        | Value::Part(_) => return Err(super::measured(vm)),
        _ => out.push(0xc0),
    }
    Ok(())
}

fn write_text(bytes: &[u8], out: &mut Vec<u8>) {
    match bytes.len() {
        length @ 0..32 => out.push(0xa0 | length as u8),
        length @ 32..=0xff => out.extend([0xd9, length as u8]),
        length @ 0x100..=0xffff => {
            out.push(0xda);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(0xdb);
            out.extend((length as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

fn write_number(value: f64, out: &mut Vec<u8>) {
    let whole = number::to_i64(value);
    if whole as f64 != value || !value.is_finite() {
        let short = value as f32;
        if f64::from(short) == value {
            out.push(0xca);
            out.extend(short.to_be_bytes());
        } else {
            out.push(0xcb);
            out.extend(value.to_be_bytes());
        }
        return;
    }
    match whole {
        0..=127 => out.push(whole as u8),
        128..=0xff => out.extend([0xcc, whole as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend((whole as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend((whole as u32).to_be_bytes());
        }
        0x1_0000_0000.. => {
            out.push(0xcf);
            out.extend((whole as u64).to_be_bytes());
        }
        -32..0 => out.push(whole as i8 as u8),
        -128..-32 => out.extend([0xd0, whole as i8 as u8]),
        -32768..-128 => {
            out.push(0xd1);
            out.extend((whole as i16).to_be_bytes());
        }
        -2_147_483_648..-32768 => {
            out.push(0xd2);
            out.extend((whole as i32).to_be_bytes());
        }
        _ => {
            out.push(0xd3);
            out.extend(whole.to_be_bytes());
        }
    }
}

fn write_table(
    vm: &mut Vm<'_>,
    table: &Table,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let entries: Vec<(Value, Value)> = table
        .entries()
        .map(|(key, value)| (key.value(), value))
        .collect();
    let whole = |key: &Value| matches!(key, Value::Number(n) if *n >= 1.0 && n.fract() == 0.0);
    let most = entries.iter().map(|(key, _)| match key {
        Value::Number(number) => *number as usize,
        _ => 0,
    });
    let is_list =
        entries.iter().all(|(key, _)| whole(key)) && most.max().unwrap_or(0) == entries.len();
    let header = |short: u8, long: u8, length: usize, out: &mut Vec<u8>| match length {
        0..16 => out.push(short | length as u8),
        16..=0xffff => {
            out.push(long);
            out.extend((length as u16).to_be_bytes());
        }
        _ => {
            out.push(long + 1);
            out.extend((length as u32).to_be_bytes());
        }
    };
    if is_list {
        header(0x90, 0xdc, entries.len(), out);
        for index in 1..=entries.len() {
            write(vm, &table.item(index), depth, out)?;
        }
        return Ok(());
    }
    let order = super::some_order(
        vm,
        entries.len(),
        "packs a table with more than four fields, in an order that nobody promises",
    )?;
    header(0x80, 0xde, entries.len(), out);
    for index in order {
        let (key, value) = entries[index].clone();
        write(vm, &key, depth, out)?;
        write(vm, &value, depth, out)?;
    }
    Ok(())
}

pub(in super::super) fn unpack(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let text = vm.text_arg(args, 1)?;
    let Some(bytes) = text.as_plain() else {
        return Err(super::measured(vm));
    };
    vm.charge(bytes.len() as u64)?;
    let mut rest = bytes;
    let mut values = Vec::new();
    while !rest.is_empty() {
        values.push(read(vm, &mut rest, 0)?);
    }
    Ok(values)
}

fn take<'t>(vm: &Vm<'_>, rest: &mut &'t [u8], count: usize) -> Result<&'t [u8], Stop> {
    match rest.split_at_checked(count) {
        Some((taken, left)) => {
            *rest = left;
            Ok(taken)
        }
        None => Err(vm.error("Missing bytes in input.")),
    }
}

/// An unsigned number of so many bytes.
fn unsigned(vm: &Vm<'_>, rest: &mut &[u8], bytes: usize) -> Result<u64, Stop> {
    let taken = take(vm, rest, bytes)?;
    Ok(taken
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn read(vm: &mut Vm<'_>, rest: &mut &[u8], depth: usize) -> Result<Value, Stop> {
    vm.charge(2)?;
    if depth > 1000 {
        return Err(vm.refuse(
            RefusalKind::Limit,
            "unpacks tables nested more than 1000 deep",
        ));
    }
    let first = take(vm, rest, 1)?[0];
    let number = |value: f64| Ok(Value::Number(value));
    match first {
        0..=0x7f => number(f64::from(first)),
        0xe0..=0xff => number(f64::from(first as i8)),
        0xc0 => Ok(Value::Nil),
        0xc2 | 0xc3 => Ok(Value::Bool(first == 0xc3)),
        0xcc => number(unsigned(vm, rest, 1)? as f64),
        0xcd => number(unsigned(vm, rest, 2)? as f64),
        0xce => number(unsigned(vm, rest, 4)? as f64),
        0xcf => number(unsigned(vm, rest, 8)? as f64),
        0xd0 => number(f64::from(unsigned(vm, rest, 1)? as i8)),
        0xd1 => number(f64::from(unsigned(vm, rest, 2)? as i16)),
        0xd2 => number(f64::from(unsigned(vm, rest, 4)? as i32)),
        0xd3 => number(unsigned(vm, rest, 8)? as i64 as f64),
        0xca => number(f64::from(f32::from_bits(unsigned(vm, rest, 4)? as u32))),
        0xcb => number(f64::from_bits(unsigned(vm, rest, 8)?)),
        0xa0..=0xbf => text(vm, rest, usize::from(first & 0x1f)),
        0xd9..=0xdb => {
            let length = unsigned(vm, rest, 1 << (first - 0xd9))? as usize;
            text(vm, rest, length)
        }
        0x90..=0x9f => list(vm, rest, usize::from(first & 0x0f), depth),
        0xdc | 0xdd => {
            let length = unsigned(vm, rest, 2 << (first - 0xdc))? as usize;
            list(vm, rest, length, depth)
        }
        0x80..=0x8f => map(vm, rest, usize::from(first & 0x0f), depth),
        0xde | 0xdf => {
            let length = unsigned(vm, rest, 2 << (first - 0xde))? as usize;
            map(vm, rest, length, depth)
        }
        _ => Err(vm.error("Bad data format in input.")),
    }
}

fn text(vm: &mut Vm<'_>, rest: &mut &[u8], length: usize) -> Result<Value, Stop> {
    let bytes = take(vm, rest, length)?;
    vm.allocate(bytes.len())?;
    Ok(Value::Text(Text::plain(bytes)))
}

fn list(vm: &mut Vm<'_>, rest: &mut &[u8], length: usize, depth: usize) -> Result<Value, Stop> {
    let mut table = Table::default();
    for index in 1..=length {
        let value = read(vm, rest, depth + 1)?;
        vm.allocate(24)?;
        if let Some(key) = Key::of(&Value::Number(index as f64)) {
            table.set(key, value);
        }
    }
    Ok(Value::Table(vm.machine.heap.table(table)))
}

fn map(vm: &mut Vm<'_>, rest: &mut &[u8], length: usize, depth: usize) -> Result<Value, Stop> {
    let mut table = Table::default();
    for _ in 0..length {
        let key = read(vm, rest, depth + 1)?;
        let value = read(vm, rest, depth + 1)?;
        vm.allocate(32)?;
        match Key::of(&key) {
            Some(key) => table.set(key, value),
            None => return Err(vm.error("table index is nil")),
        }
    }
    Ok(Value::Table(vm.machine.heap.table(table)))
}
