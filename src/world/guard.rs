//! The guard of the closure: random words on the live program.
//!
//! The tables merge states whose canonical keys are equal. If a key forgets
//! something (a time beyond the horizon, state in a place that nobody looks
//! at), two states that differ become one, and a verdict built on it is worth
//! nothing. So every check walks the live program through random words and
//! compares each output with the tables. The live program runs with a horizon
//! eight times as far: what the tables saturate, it still knows. Every second
//! word is mostly ticks, because wrong merges of times show only late.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::lock::{LockError, Output};

use super::client::{Facade, Live, Symbolic};
use super::closure::ending_of;
use super::minimise;
use super::program::ClientProgram;
use super::tables::Tables;

/// How far beyond the tables' horizon the live program still tells times apart.
pub const HORIZON_FACTOR: i64 = 8;

/// How much to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    pub seed: u64,
    pub words: u32,
    /// Inputs in each word.
    pub length: u32,
}

/// What the guard found.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The lock file failed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The live program and the tables differ.
    #[error(
        "the lock file behaves differently from its own automaton ({detail}; seed {seed}, word {word}, input {at}: {input}): it keeps state that lockproof cannot see, or compares times further apart than the model's horizon. Keep state in `self` or locals, and times within a few TTLs"
    )]
    Differs {
        seed: u64,
        word: u32,
        at: u32,
        input: String,
        detail: String,
    },
}

/// Walks random words; `program` runs under the wide horizon.
///
/// # Errors
/// At the first difference, or if the program fails.
pub fn walk(
    program: &mut dyn ClientProgram,
    tables: &Tables,
    effort: Effort,
) -> Result<(), GuardError> {
    let mut random = ChaCha8Rng::seed_from_u64(effort.seed);
    let representatives = minimise::representatives(&tables.class_of);
    for word in 0..effort.words {
        let start_ms = i64::from(random.random_range(0..1_000_000u32));
        let needs = &tables.needs;
        let mut live = Live::start(program, start_ms, needs.horizon_ms, needs.tick_ms)?;
        let mut class = tables.class_of[0];
        for at in 0..effort.length {
            let local = representatives[usize::from(class)];
            let input = pick(&mut random, tables, local, word % 2 == 1);
            let output = live.step(input, tables.closure.local_replies.items())?;
            let next = step(tables, class, input);
            let detail = match next {
                None => Some("the tables have no such input".to_owned()),
                Some(next) => difference(
                    tables,
                    &live,
                    class,
                    input,
                    &output,
                    representatives[usize::from(next)],
                ),
            };
            if let Some(detail) = detail {
                let input = format!("{input:?}");
                return Err(GuardError::Differs {
                    seed: effort.seed,
                    word,
                    at,
                    input,
                    detail,
                });
            }
            class = next.unwrap_or(class);
        }
    }
    Ok(())
}

fn step(tables: &Tables, class: u16, input: Symbolic) -> Option<u16> {
    tables.step(class, input).map(|(next, _)| next)
}

/// A random input that the state takes; in clock-heavy words mostly ticks.
fn pick(random: &mut impl Rng, tables: &Tables, local: u32, ticks: bool) -> Symbolic {
    if ticks && random.random_range(0..5u8) > 0 {
        return Symbolic::Advance(random.random_range(1..=tables.needs.advance_max));
    }
    let next = &tables.closure.locals[local as usize].next;
    let index = random.random_range(0..next.len());
    // Advances are always possible, so there is always an input.
    next.keys()
        .nth(index)
        .copied()
        .unwrap_or(Symbolic::Advance(1))
}

fn difference(
    tables: &Tables,
    live: &Live,
    class: u16,
    input: Symbolic,
    output: &Output,
    next: u32,
) -> Option<String> {
    let (_, emitted) = tables.step(class, input)?;
    let facade = Facade::of(&live.view());
    let expected = &tables.closure.locals[next as usize].facade;
    if facade != *expected {
        return Some(format!("it stands at {facade:?} instead of {expected:?}"));
    }
    let abandoned = output
        .abandoned
        .iter()
        .fold(0, |set, thread| set | 1 << thread);
    if abandoned != emitted.abandoned {
        return Some("it gives up other commands".into());
    }
    let ending = ending_of(output);
    if ending != emitted.ending {
        return Some(format!(
            "it ends with {ending:?} instead of {:?}",
            emitted.ending
        ));
    }
    let sent: Vec<_> = output
        .sent
        .iter()
        .map(|request| (request.thread, request.node, live.command(&request.argv)))
        .collect();
    let expected: Vec<_> = emitted
        .sent
        .iter()
        .map(|sent| {
            (
                sent.thread,
                sent.node,
                tables.closure.local_commands.get(sent.command).clone(),
            )
        })
        .collect();
    (sent != expected).then(|| format!("it sends {} instead of {}", show(&sent), show(&expected)))
}

fn show(sent: &[(u8, u8, Vec<Vec<u8>>)]) -> String {
    let text: Vec<String> = sent
        .iter()
        .map(|(_, node, argv)| {
            let words: Vec<_> = argv
                .iter()
                .map(|word| String::from_utf8_lossy(word))
                .collect();
            format!("`{}` to node {node}", words.join(" "))
        })
        .collect();
    if text.is_empty() {
        "nothing".into()
    } else {
        text.join(", ")
    }
}
