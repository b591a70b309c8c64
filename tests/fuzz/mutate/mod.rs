//! New inputs out of old ones. Everything is drawn from the generator that is given,
//! so that an input is the same whenever its number comes up.

mod lines;
mod numbers;
mod ranges;
mod tree;

use rand::{Rng, RngExt};

use crate::targets::{Form, Target};

/// Inputs are not made longer than this.
pub const BYTES_MAX: usize = 128 << 10;

/// A few changes of one seed.
pub fn mutate(target: &Target, seeds: &[Vec<u8>], rng: &mut impl Rng) -> Vec<u8> {
    let mut input = pick(seeds, rng).cloned().unwrap_or_default();
    for _ in 0..=rng.random_range(0..4) {
        change(target, seeds, &mut input, rng);
        input.truncate(BYTES_MAX);
    }
    input
}

/// One change.
pub fn change(target: &Target, seeds: &[Vec<u8>], input: &mut Vec<u8>, rng: &mut impl Rng) {
    let structured = !matches!(target.form, Form::Bytes | Form::Text);
    if structured && rng.random_ratio(2, 5) && tree::change(target, seeds, input, rng) {
        return;
    }
    match rng.random_range(0..14) {
        0 => ranges::flip(input, rng),
        1 => ranges::overwrite(input, rng),
        2 => ranges::delete(input, rng),
        3 => ranges::double(input, rng),
        4 => ranges::truncate(input, rng),
        5 => ranges::nest(input, rng),
        6 => splice(seeds, input, rng),
        7 => lines::swap(input, rng),
        8 => lines::delete(input, rng),
        9 => lines::borrow(seeds, input, rng),
        10 => lines::double(input, rng),
        11 => numbers::replace(input, rng),
        12 => word_for_word(target, input, rng),
        _ => {
            let word = word(target, rng);
            let at = place(input, rng);
            input.splice(at..at, word);
        }
    }
}

fn pick<'a, T>(items: &'a [T], rng: &mut impl Rng) -> Option<&'a T> {
    match items.len() {
        0 => None,
        count => items.get(rng.random_range(0..count)),
    }
}

/// A place in the input, its end included.
fn place(input: &[u8], rng: &mut impl Rng) -> usize {
    rng.random_range(0..=input.len())
}

/// A word of the target, or a number at the edge of something.
fn word(target: &Target, rng: &mut impl Rng) -> Vec<u8> {
    match pick(target.words, rng) {
        Some(word) if rng.random_ratio(3, 4) => word.as_bytes().to_vec(),
        _ => numbers::edge(rng).as_bytes().to_vec(),
    }
}

/// The beginning of this and the end of another.
fn splice(seeds: &[Vec<u8>], input: &mut Vec<u8>, rng: &mut impl Rng) {
    if let Some(other) = pick(seeds, rng) {
        input.truncate(place(input, rng));
        input.extend_from_slice(&other[place(other, rng)..]);
    }
}

/// A word of the input becomes one of the target's.
fn word_for_word(target: &Target, input: &mut Vec<u8>, rng: &mut impl Rng) {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let at = place(input, rng);
    let Some(start) = input[at..].iter().position(inside) else {
        return;
    };
    let start = at + start;
    let length = input[start..]
        .iter()
        .take_while(|byte| inside(byte))
        .count();
    let word = word(target, rng);
    input.splice(start..start + length, word);
}
