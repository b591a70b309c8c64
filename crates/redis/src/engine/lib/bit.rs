//! `bit`: operations on 32 bits, as LuaBitOp does them.

use lockproof_lua::{Returned, Stop, Value, Vm};

use super::super::host::Function;

/// A number as 32 bits: rounded to the nearest, wrapped around.
fn bits(vm: &Vm<'_>, args: &[Value], number: usize) -> Result<u32, Stop> {
    // LuaBitOp takes texts too, where they are numbers.
    let value = vm.number_arg(args, number)?;
    let rounded = value.round_ties_even();
    Ok(rounded.rem_euclid(4_294_967_296.0) as u32)
}

fn given(value: u32) -> Returned {
    Ok(vec![Value::Number(f64::from(value as i32))])
}

pub(in super::super) fn call(vm: &mut Vm<'_>, function: Function, args: &[Value]) -> Returned {
    let first = bits(vm, args, 1)?;
    let fold = |vm: &mut Vm<'_>, f: fn(u32, u32) -> u32| {
        let mut value = first;
        for number in 2..=args.len() {
            value = f(value, bits(vm, args, number)?);
        }
        given(value)
    };
    let by = |vm: &mut Vm<'_>| bits(vm, args, 2).map(|by| by & 31);
    match function {
        Function::BitNot => given(!first),
        Function::BitAnd => fold(vm, |a, b| a & b),
        Function::BitOr => fold(vm, |a, b| a | b),
        Function::BitXor => fold(vm, |a, b| a ^ b),
        Function::BitLeft => given(first << by(vm)?),
        Function::BitRight => given(first >> by(vm)?),
        Function::BitArithmeticRight => given(((first as i32) >> by(vm)?) as u32),
        Function::BitRotateLeft => given(first.rotate_left(by(vm)?)),
        Function::BitRotateRight => given(first.rotate_right(by(vm)?)),
        Function::BitSwap => given(first.swap_bytes()),
        Function::BitToHex => to_hex(vm, args, first),
        // `tobit`, and nothing else comes here.
        _ => given(first),
    }
}

fn to_hex(vm: &mut Vm<'_>, args: &[Value], value: u32) -> Returned {
    let digits = match args.len() {
        0 | 1 => 8,
        _ => bits(vm, args, 2)? as i32,
    };
    let text = match digits < 0 {
        true => format!("{value:08X}"),
        false => format!("{value:08x}"),
    };
    let count = (digits.unsigned_abs() as usize).min(8);
    Ok(vec![Value::text(&text[8 - count..])])
}
