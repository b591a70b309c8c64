//! Numbers at the edge of something.

use rand::{Rng, RngExt};

const EDGES: [&str; 34] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "256",
    "-0",
    "-0.0",
    "0.1",
    "1e-9",
    "1e9",
    "65535",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e18",
    "1e19",
    "1e308",
    "1e309",
    "-1e309",
    "5e-324",
    "nan",
    "inf",
    "1e999999999999",
];

pub fn edge(rng: &mut impl Rng) -> &'static str {
    EDGES[rng.random_range(0..EDGES.len())]
}

/// A number of the input becomes another one.
pub fn replace(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let at = super::place(input, rng);
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit) else {
        return;
    };
    let start = at + start;
    let digit = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
    let length = input[start..].iter().take_while(digit).count();
    input.splice(start..start + length, edge(rng).bytes());
}
