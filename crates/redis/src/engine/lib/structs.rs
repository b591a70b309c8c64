//! `struct`: numbers and texts as bytes, as lua-struct 0.2 packs them.

use lockproof_lua::{Returned, Stop, Value, Vm, number};

/// Bytes that a value may be aligned to unless the format says otherwise.
const ALIGNMENT_MAX: usize = 8;
/// Bytes of the longest integer.
const INTEGER_MAX: usize = 32;

/// Order of bytes, and alignment.
struct Header {
    little: bool,
    align: usize,
}

struct Format<'f> {
    rest: &'f [u8],
}

/// One option of a format with its size.
struct Item {
    option: u8,
    size: usize,
    /// Bytes to skip before it.
    padding: usize,
}

impl Format<'_> {
    fn digits(&mut self) -> Option<usize> {
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let text = std::str::from_utf8(digits).ok()?;
        if text.is_empty() {
            return None;
        }
        Some(text.parse().unwrap_or(usize::MAX))
    }

    /// The next option that stands for something, placed at byte `at`.
    fn next(&mut self, vm: &Vm<'_>, header: &mut Header, at: usize) -> Result<Option<Item>, Stop> {
        loop {
            let Some((&option, rest)) = self.rest.split_first() else {
                return Ok(None);
            };
            self.rest = rest;
            let size = match option {
                b'b' | b'B' => 1,
                b'h' | b'H' => 2,
                b'l' | b'L' | b'T' | b'd' => 8,
                b'f' => 4,
                b'i' | b'I' => {
                    let size = self.digits().unwrap_or(4);
                    if size > INTEGER_MAX {
                        return Err(vm.error(format!(
                            "integral size {size} is larger than limit of {INTEGER_MAX}"
                        )));
                    }
                    size
                }
                b'x' => 1,
                b'c' => self.digits().unwrap_or(1),
                b's' => 0,
                b' ' => continue,
                b'<' => {
                    header.little = true;
                    continue;
                }
                b'>' => {
                    header.little = false;
                    continue;
                }
                b'!' => {
                    let align = self.digits().unwrap_or(ALIGNMENT_MAX);
                    if align == 0 || !align.is_power_of_two() {
                        return Err(vm.error("alignment is not a power of 2"));
                    }
                    header.align = align;
                    continue;
                }
                other => {
                    let shown = char::from(other);
                    return Err(vm.bad_argument(1, &format!("invalid format option '{shown}'")));
                }
            };
            let align = size.min(header.align);
            let aligned = align > 1 && !matches!(option, b'c' | b's' | b'x');
            let padding = match aligned {
                true => (align - (at & (align - 1))) & (align - 1),
                false => 0,
            };
            return Ok(Some(Item {
                option,
                size,
                padding,
            }));
        }
    }
}

fn start(vm: &mut Vm<'_>, args: &[Value]) -> Result<(std::sync::Arc<[u8]>, Header), Stop> {
    let format = vm.plain_arg(args, 1, "uses as a format")?;
    let header = Header {
        little: true,
        align: 1,
    };
    Ok((format, header))
}

fn plain_bytes(vm: &Vm<'_>, args: &[Value], number: usize) -> Result<Vec<u8>, Stop> {
    let text = vm.text_arg(args, number)?;
    match text.as_plain() {
        Some(bytes) => Ok(bytes.to_vec()),
        None => Err(super::measured(vm)),
    }
}

pub(in super::super) fn pack(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let (format, mut header) = start(vm, args)?;
    let mut format = Format { rest: &format };
    let mut out: Vec<u8> = Vec::new();
    let mut argument = 2;
    while let Some(item) = format.next(vm, &mut header, out.len())? {
        vm.allocate(item.size.saturating_add(item.padding))?;
        out.resize(out.len() + item.padding, 0);
        match item.option {
            b'x' => out.push(0),
            b'c' | b's' => {
                let bytes = plain_bytes(vm, args, argument)?;
                argument += 1;
                let size = if item.size == 0 {
                    bytes.len()
                } else {
                    item.size
                };
                if bytes.len() < size {
                    return Err(vm.bad_argument(argument, "string too short"));
                }
                vm.allocate(size)?;
                out.extend_from_slice(&bytes[..size]);
                if item.option == b's' {
                    out.push(0);
                }
            }
            b'f' | b'd' => {
                let value = vm.number_arg(args, argument)?;
                argument += 1;
                let mut bytes = match item.option {
                    b'f' => (value as f32).to_le_bytes().to_vec(),
                    _ => value.to_le_bytes().to_vec(),
                };
                if !header.little {
                    bytes.reverse();
                }
                out.extend(bytes);
            }
            _ => {
                let value = vm.number_arg(args, argument)?;
                argument += 1;
                out.extend(integer(value, item.size, header.little));
            }
        }
    }
    Ok(vec![Value::text(out)])
}

fn integer(value: f64, size: usize, little: bool) -> Vec<u8> {
    // Negative numbers are cast as signed, others as unsigned.
    let bits = match value < 0.0 {
        true => number::to_i64(value) as u64,
        false => value as u64,
    };
    let mut bytes: Vec<u8> = (0..size)
        .map(|at| match at {
            0..8 => (bits >> (8 * at)) as u8,
            _ => 0,
        })
        .collect();
    if !little {
        bytes.reverse();
    }
    bytes
}

pub(in super::super) fn unpack(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let (format, mut header) = start(vm, args)?;
    let data = plain_bytes(vm, args, 2)?;
    let position = vm.integer(args, 3, Some(1))?;
    if position < 1 {
        return Err(vm.bad_argument(3, "offset must be 1 or greater"));
    }
    let mut at = position as usize - 1;
    let mut values: Vec<Value> = Vec::new();
    let mut format = Format { rest: &format };
    while let Some(item) = format.next(vm, &mut header, at)? {
        vm.charge(2)?;
        at = at.saturating_add(item.padding);
        let end = at.saturating_add(item.size);
        if end > data.len() {
            return Err(vm.bad_argument(2, "data string too short"));
        }
        match item.option {
            b'x' => {}
            b'c' if item.size == 0 => {
                let Some(Value::Number(length)) = values.pop() else {
                    return Err(vm.error("format 'c0' needs a previous size"));
                };
                let end = at.saturating_add(length.max(0.0) as usize);
                let Some(part) = data.get(at..end) else {
                    return Err(vm.bad_argument(2, "data string too short"));
                };
                values.push(Value::text(part));
                at = end;
                continue;
            }
            b'c' => values.push(Value::text(&data[at..end])),
            b's' => {
                let Some(length) = data[at..].iter().position(|byte| *byte == 0) else {
                    return Err(vm.error("unfinished string in data"));
                };
                values.push(Value::text(&data[at..at + length]));
                at += length + 1;
                continue;
            }
            _ => values.push(Value::Number(numeric(&data[at..end], &item, header.little))),
        }
        at = end;
    }
    values.push(Value::Number(at as f64 + 1.0));
    Ok(values)
}

fn numeric(bytes: &[u8], item: &Item, little: bool) -> f64 {
    let mut bytes = bytes.to_vec();
    if !little {
        bytes.reverse();
    }
    let bits = bytes
        .iter()
        .take(8)
        .rev()
        .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    match item.option {
        b'f' => f64::from(f32::from_bits(bits as u32)),
        b'd' => f64::from_bits(bits),
        option if option.is_ascii_lowercase() => {
            let shift = 64 - 8 * item.size.clamp(1, 8) as u32;
            (((bits << shift) as i64) >> shift) as f64
        }
        _ => bits as f64,
    }
}

pub(in super::super) fn size(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let (format, mut header) = start(vm, args)?;
    let mut format = Format { rest: &format };
    let mut total = 0usize;
    while let Some(item) = format.next(vm, &mut header, total)? {
        total = total.saturating_add(item.padding);
        if item.option == b's' {
            return Err(vm.bad_argument(1, "variable-size format 's'"));
        }
        if item.option == b'c' && item.size == 0 {
            return Err(vm.bad_argument(1, "variable-size format 'c0'"));
        }
        total = total.saturating_add(item.size);
    }
    Ok(vec![Value::Number(total as f64)])
}
