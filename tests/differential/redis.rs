//! The formal Redis is held to the real one here.
//!
//! Random sequences of commands and scripts run on the model and on a real
//! server whose clock stands still unless the sequence moves it. Every reply,
//! every published message and the keyspace that is left must be the same; a
//! difference is shrunk to a shortest sequence. Every server program that the
//! machine has is compared with the dialect that models it.
//!
//! A comparison that cannot fail proves nothing, so the same comparison is run
//! on a model with a planted bug, and must find each.
//!
//! `LOCKPROOF_SEED=n` draws other sequences, `LOCKPROOF_LONG=1` twenty times
//! as many.

use std::cell::RefCell;

mod bugs;
mod compare;
mod corpus;
mod generate;
mod real;
mod scripts;

use bugs::{Bug, Model};
use compare::{compare, shown};
use generate::{Step, commands_in, sequences};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use real::RealServer;

/// Commands and scripts compared with each server program.
const COMMANDS: usize = 100_000;
/// Commands that a planted bug may survive.
const COMMANDS_PER_BUG: usize = 200_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seed() -> u64 {
    setting("LOCKPROOF_SEED").unwrap_or(1)
}

/// What a search for a difference came to.
struct Search {
    sequences: usize,
    commands: usize,
    /// The shortest sequence found, and what differs.
    found: Option<(Vec<Step>, String)>,
}

/// Compares random sequences until `commands` have run or one differs.
fn search(real: &mut RealServer, bug: Option<Bug>, seed: u64, commands: usize) -> Search {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        // The loop below stops by commands, not by cases.
        cases: u32::MAX,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategy = sequences(real.dialect());
    // The runner may only look at what a test case captures.
    let pair = RefCell::new((Model::new(real.dialect(), bug), real));
    let (mut sequences, mut done) = (0, 0);
    while done < commands {
        let tree = strategy
            .new_tree(&mut runner)
            .expect("nothing is filtered out");
        sequences += 1;
        done += commands_in(&tree.current());
        let result = runner.run_one(tree, |steps| {
            let (model, real) = &mut *pair.borrow_mut();
            // The sequence that a server did not survive is the one to show.
            if real.is_broken() {
                return Ok(());
            }
            compare(model, real, &steps)
                .map_err(|difference| TestCaseError::fail(difference.to_string()))
        });
        if let Err(TestError::Fail(reason, steps)) = result {
            return Search {
                sequences,
                commands: done,
                found: Some((steps, reason.to_string())),
            };
        }
        result.expect("the test case itself failed to run");
    }
    Search {
        sequences,
        commands: done,
        found: None,
    }
}

/// Shows a sequence so that it can be typed in.
fn story(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("  {step}\n")).collect()
}

#[test]
fn the_model_answers_as_every_real_server_does() {
    let long = if setting("LOCKPROOF_LONG") == Some(1) {
        20
    } else {
        1
    };
    let mut compared = 0;
    for mut real in RealServer::start_all() {
        let search = search(&mut real, None, seed(), COMMANDS * long);
        println!(
            "{real}: {} commands and scripts in {} sequences, seed {}",
            search.commands,
            search.sequences,
            seed()
        );
        if let Some((steps, difference)) = search.found {
            panic!(
                "{real} and the model differ (seed {}):\n{}{difference}",
                seed(),
                story(&steps)
            );
        }
        compared += 1;
    }
    assert!(
        compared > 0,
        "no server to compare with: install redis-server"
    );
}

#[test]
fn every_planted_bug_is_found() {
    let mut real = RealServer::start_default();
    for bug in Bug::ALL {
        let search = search(&mut real, Some(bug), seed(), COMMANDS_PER_BUG);
        let Some((steps, difference)) = search.found else {
            panic!("{bug:?} was not found in {} commands", search.commands);
        };
        println!(
            "{bug:?}: found after {} commands, shrunk to {} steps: {}",
            search.commands,
            steps.len(),
            difference.lines().next().unwrap_or_default()
        );
    }
}

/// Commands that random choice seldom makes, with each error text.
#[test]
fn the_corpus_is_answered_word_for_word() {
    for mut real in RealServer::start_all() {
        let mut model = Model::new(real.dialect(), None);
        for steps in corpus::sequences() {
            if let Err(difference) = compare(&mut model, &mut real, &steps) {
                panic!(
                    "{real} and the model differ:\n{}{difference}",
                    story(&steps)
                );
            }
        }
    }
}

/// What real servers have and the model has not ends a script, and is never answered.
#[test]
fn what_the_model_lacks_is_refused_however_a_script_asks_for_it() {
    let mut model = Model::new(lockproof_redis::Dialect::default(), None);
    for (script, lacks) in corpus::LACKING {
        for text in [
            format!("return {script}"),
            format!("local ok, e = pcall(function() return {script} end) return 1"),
            format!("xpcall(function() return {script} end, function() end) return 1"),
        ] {
            let reply = shown(&model.reply_to(&["eval", &text, "0"]));
            let refused = "-ERR lockproof does not follow the script: it uses ";
            assert!(reply.starts_with(refused), "{text}: {reply}");
            assert!(reply.contains(lacks), "{text}: {reply}");
        }
    }
}

/// What tells the dialects apart is listed in one table, and nowhere else.
#[test]
fn the_dialects_differ_where_the_table_says() {
    for mut real in RealServer::start_all() {
        for row in corpus::DIFFERENCES {
            let steps = [Step::command(row.words)];
            let mut model = Model::new(real.dialect(), None);
            if let Err(difference) = compare(&mut model, &mut real, &steps) {
                panic!("{real}, {:?}:\n{difference}", row.words);
            }
            let reply = shown(&model.reply_to(row.words));
            assert_eq!(reply, row.reply(real.dialect()), "{real}, {:?}", row.words);
        }
    }
}
