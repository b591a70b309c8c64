//! Changes of bytes, whatever they mean.

use rand::{Rng, RngExt};

use super::place;

pub fn flip(input: &mut [u8], rng: &mut impl Rng) {
    if !input.is_empty() {
        let at = rng.random_range(0..input.len());
        input[at] ^= 1 << rng.random_range(0..8);
    }
}

/// Bytes that end, quote or break something.
pub fn overwrite(input: &mut [u8], rng: &mut impl Rng) {
    const BYTES: &[u8] = b"\0\t\n\r\x1b\"'\\,.:;=#-+*/%<>&|()[]{}$09AZaz\x7f\x80\xc3\xe2\xf0\xff";
    if !input.is_empty() {
        let at = rng.random_range(0..input.len());
        input[at] = BYTES[rng.random_range(0..BYTES.len())];
    }
}

/// A short range in most cases: what is left still looks like something.
fn range(input: &[u8], rng: &mut impl Rng) -> std::ops::Range<usize> {
    let start = place(input, rng);
    let left = input.len() - start;
    let most = match rng.random_range(0..4) {
        0 => left,
        1 => left.min(200),
        _ => left.min(12),
    };
    start..start + rng.random_range(0..=most)
}

pub fn delete(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let range = range(input, rng);
    input.drain(range);
}

/// A range stands there once more, or many times.
pub fn double(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let range = range(input, rng);
    let times = if rng.random_ratio(1, 8) { 200 } else { 1 };
    let more = input[range].repeat(times);
    let at = place(input, rng);
    input.splice(at..at, more.into_iter().take(super::BYTES_MAX));
}

pub fn truncate(input: &mut Vec<u8>, rng: &mut impl Rng) {
    input.truncate(place(input, rng));
}

/// Opens something many times, as deep as no reader may follow; often closes it too.
pub fn nest(input: &mut Vec<u8>, rng: &mut impl Rng) {
    const PAIRS: [(&str, &str); 14] = [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("{\"a\":", "}"),
        ("a.", ""),
        ("not ", ""),
        ("- ", ""),
        ("{{", "}}"),
        ("function() return ", " end"),
        ("if true then ", " end "),
        ("do ", " end "),
        ("*1\r\n", ""),
        ("|0\r\n", ""),
        ("'x'..", ""),
    ];
    let (open, close) = PAIRS[rng.random_range(0..PAIRS.len())];
    let depth = [3, 30, 130, 260, 3000, 30_000][rng.random_range(0..6)];
    let at = place(input, rng);
    let inner = if rng.random() { "1" } else { "" };
    let close = if rng.random_ratio(3, 4) { close } else { "" };
    let text = [&open.repeat(depth), inner, &close.repeat(depth)].concat();
    input.splice(at..at, text.into_bytes());
}
