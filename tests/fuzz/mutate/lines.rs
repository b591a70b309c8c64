//! Changes of whole lines.

use rand::{Rng, RngExt};

fn split(input: &[u8]) -> Vec<Vec<u8>> {
    input
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

fn some(count: usize, rng: &mut impl Rng) -> usize {
    rng.random_range(0..count)
}

pub fn swap(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let mut lines = split(input);
    let (a, b) = (some(lines.len(), rng), some(lines.len(), rng));
    lines.swap(a, b);
    *input = lines.join(&b'\n');
}

pub fn delete(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let mut lines = split(input);
    lines.remove(some(lines.len(), rng));
    *input = lines.join(&b'\n');
}

pub fn double(input: &mut Vec<u8>, rng: &mut impl Rng) {
    let mut lines = split(input);
    let line = lines[some(lines.len(), rng)].clone();
    lines.insert(some(lines.len(), rng), line);
    *input = lines.join(&b'\n');
}

/// A line of another seed.
pub fn borrow(seeds: &[Vec<u8>], input: &mut Vec<u8>, rng: &mut impl Rng) {
    if let Some(other) = super::pick(seeds, rng) {
        let others = split(other);
        let mut lines = split(input);
        let line = others[some(others.len(), rng)].clone();
        lines.insert(some(lines.len(), rng), line);
        *input = lines.join(&b'\n');
    }
}
