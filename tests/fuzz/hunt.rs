//! A seeded hunt: inputs one after the other, until one fails or enough have not.
//!
//! An input is made from the seed, the target's name and its number alone. So a
//! number is a find that can be repeated, on any machine, for as long as the corpus
//! is the same; what was found is kept as a file, which needs no number.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::corpus::corpus;
use crate::mutate::mutate;
use crate::shrink::shrink;
use crate::targets::{self, Target};
use crate::watch::Slot;

/// A hunt ends when it has found this many different things.
const FINDS_MAX: usize = 8;

/// When enough inputs have been tried.
#[derive(Clone, Copy, Debug)]
pub enum Enough {
    Inputs(u64),
    Time(Duration),
}

/// What is hunted, and how long.
#[derive(Clone, Copy)]
pub struct Hunt {
    pub target: &'static Target,
    pub seed: u64,
    pub enough: Enough,
}

/// A failure: where, why, and the input, made small.
#[derive(Debug)]
pub struct Find {
    pub number: u64,
    pub at: String,
    pub why: String,
    pub input: Vec<u8>,
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str) -> Option<u64> {
    let value = setting(name)?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number")),
    )
}

impl Hunt {
    /// The hunt for this target that the environment asks for: FUZZ_SEED,
    /// FUZZ_SECONDS or FUZZ_INPUTS.
    pub fn of(name: &str) -> Hunt {
        let target = targets::named(name).expect("a target's name");
        let inputs = number("FUZZ_INPUTS").unwrap_or(target.inputs);
        let seconds = number("FUZZ_SECONDS").map(Duration::from_secs);
        Hunt {
            target,
            seed: number("FUZZ_SEED").unwrap_or(1),
            enough: seconds.map_or(Enough::Inputs(inputs), Enough::Time),
        }
    }

    /// How to run the input of this number again.
    pub fn again(&self, number: u64) -> String {
        let (name, seed) = (self.target.name, self.seed);
        format!(
            "FUZZ_SEED={seed} FUZZ_NUMBER={number} cargo test --test fuzz hunts::{name} -- --nocapture"
        )
    }

    /// Hunts, and panics if anything was found.
    pub fn run(&self) {
        if let Some(path) = setting("FUZZ_INPUT") {
            return (self.target.run)(&std::fs::read(path).expect("FUZZ_INPUT can be read"));
        }
        let seeds: Vec<Vec<u8>> = corpus(self.target)
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        if let Some(number) = number("FUZZ_NUMBER") {
            let input = self.input(&seeds, number);
            let path = self.keep(number, &input);
            eprintln!("the input {number} is in {}", path.display());
            return (self.target.run)(&input);
        }
        let start = Instant::now();
        let (count, finds) = self.search(&seeds);
        let seconds = start.elapsed().as_secs_f64();
        let (name, seed) = (self.target.name, self.seed);
        eprintln!(
            "{name}: {count} inputs in {seconds:.1} s, seed {seed}, {} found",
            finds.len()
        );
        let told: Vec<String> = finds.iter().map(|find| self.told(find)).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    }

    /// How many inputs were tried, and what was found.
    pub fn search(&self, seeds: &[Vec<u8>]) -> (u64, Vec<Find>) {
        let slot = Slot::new(*self);
        let start = Instant::now();
        let mut finds: BTreeMap<String, Find> = BTreeMap::new();
        let mut count = 0;
        // However short the time is, what once failed and the seeds are tried.
        while count < seeds.len() as u64 || !self.is_enough(count, start) {
            let input = self.input(seeds, count);
            slot.begins(count);
            let ended = outcome(self.target, &input);
            slot.ended();
            if let Err((at, why)) = ended
                && !finds.contains_key(&at)
            {
                let input = shrink(&input, |input| {
                    slot.begins(count);
                    outcome(self.target, input).is_err_and(|(other, _)| other == at)
                });
                slot.ended();
                let find = Find {
                    number: count,
                    at: at.clone(),
                    why,
                    input,
                };
                finds.insert(at, find);
            }
            count += 1;
            if finds.len() >= FINDS_MAX {
                break;
            }
        }
        (count, finds.into_values().collect())
    }

    fn is_enough(&self, count: u64, start: Instant) -> bool {
        match self.enough {
            Enough::Inputs(inputs) => count >= inputs,
            Enough::Time(time) => count.is_multiple_of(16) && start.elapsed() >= time,
        }
    }

    /// The input of this number: the seeds come first, as they are.
    fn input(&self, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
        if let Some(seed) = usize::try_from(number).ok().and_then(|at| seeds.get(at)) {
            return seed.clone();
        }
        let name = self.target.name.bytes();
        let of_name = name.fold(0_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ of_name);
        rng.set_stream(number);
        mutate(self.target, seeds, &mut rng)
    }

    fn told(&self, find: &Find) -> String {
        let path = self.keep(find.number, &find.input);
        format!(
            "{} found in input {} of seed {}:\n  {}\n  {}\n  the least input is in {}: mend it, and keep it in tests/fuzz/found/{}",
            self.target.name,
            find.number,
            self.seed,
            find.at,
            find.why,
            path.display(),
            self.target.name
        )
    }

    fn keep(&self, number: u64, input: &[u8]) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let path = folder.join(format!("{}-{}-{number}", self.target.name, self.seed));
        std::fs::write(&path, input).expect("the input can be written");
        path
    }
}

thread_local! {
    /// Where the last panic of this thread's input was; `None` outside of inputs.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Where and why the target fails with this input.
pub fn outcome(target: &Target, input: &[u8]) -> Result<(), (String, String)> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info
                .location()
                .map_or("nowhere".into(), ToString::to_string);
            let ours = CAUGHT.with_borrow_mut(|caught| caught.as_mut().map(|at| *at = place));
            if ours.is_none() {
                usual(info);
            }
        }));
    });
    CAUGHT.set(Some(String::new()));
    let ended = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let at = CAUGHT.take().unwrap_or_default();
    ended.map_err(|panic| (at, words(panic.as_ref())))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("no words");
    text.chars().take(600).collect()
}
