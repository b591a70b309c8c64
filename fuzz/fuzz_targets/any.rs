//! The target that FUZZ_TARGET names, under libFuzzer.
//!
//! Half of the changes are libFuzzer's own, half are those of the seeded hunt, which
//! knows lines, numbers and trees.
#![no_main]

// The hunt uses more of them.
#[allow(dead_code)]
#[path = "../../tests/fuzz/mutate/mod.rs"]
mod mutate;
// The hunt uses more of them.
#[allow(dead_code)]
#[path = "../../tests/fuzz/targets/mod.rs"]
mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use targets::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    targets::named(&name).unwrap_or_else(|| {
        let names: Vec<&str> = targets::TARGETS.iter().map(|target| target.name).collect();
        eprintln!("FUZZ_TARGET must be one of {}", names.join(", "));
        std::process::exit(64);
    })
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(2) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed.into());
    let mut input = data[..size].to_vec();
    mutate::change(*TARGET, &[], &mut input, &mut rng);
    let size = input.len().min(max_size);
    data[..size].copy_from_slice(&input[..size]);
    size
});
