//! Hostile inputs for everything that reads what others wrote.
//!
//! `cargo test` tries a few hundred of each kind, always the same; `make fuzz` tries
//! as many as a quarter of a minute has room for. docs/fuzzing.md tells how to repeat a find.

mod corpus;
mod hunt;
mod mutate;
mod shrink;
mod targets;
mod watch;

use hunt::{Enough, Hunt};
use targets::{Form, TARGETS, Target};

macro_rules! hunts {
    ($($name:ident),*) => {
        /// One for each target, so that two can run at a time.
        mod hunts {
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
            $(
                #[test]
                fn $name() {
                    super::Hunt::of(stringify!($name)).run();
                }
            )*
        }
    };
}

hunts!(
    adapter, attachment, baseline, history, lock_file, merge, report, resp, run_file, scenario,
    script, trace
);

#[test]
fn every_target_is_hunted_and_has_seeds() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, hunts::NAMES);
    for target in &TARGETS {
        assert!(!corpus::corpus(target).is_empty(), "{}", target.name);
    }
}

/// A target with a bug in it: it reads a number after `size=` and believes it.
static PLANTED: Target = Target {
    name: "planted",
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let size = text.lines().find_map(|line| line.strip_prefix("size="));
        let size: u64 = size.and_then(|size| size.parse().ok()).unwrap_or(1);
        assert!(size.checked_mul(1000).is_some(), "the size is too large");
    },
    form: Form::Text,
    seeds: &[],
    words: &["size="],
    inputs: 0,
};

fn planted(seed: u64) -> (u64, Vec<hunt::Find>) {
    let hunt = Hunt {
        target: &PLANTED,
        seed,
        enough: Enough::Inputs(20_000),
    };
    hunt.search(&[b"# a file\nname=x\nsize=12\nend\n".to_vec()])
}

#[test]
fn a_planted_bug_is_found_and_made_small() {
    let (count, finds) = planted(1);
    assert_eq!(count, 20_000);
    let [find] = finds.as_slice() else {
        panic!("{finds:?}");
    };
    assert!(find.at.contains("main.rs") && find.why == "the size is too large");
    let text = String::from_utf8_lossy(&find.input);
    let digits = text
        .strip_prefix("size=")
        .expect("nothing stands before it");
    assert!(
        digits.len() <= 20 && digits.parse::<u64>().is_ok(),
        "{text}"
    );
}

#[test]
fn a_hunt_is_the_same_each_time_and_another_for_another_seed() {
    let told = |seed| format!("{:?}", planted(seed));
    assert_eq!(told(1), told(1));
    assert_ne!(told(1), told(2));
}

/// For libFuzzer, which takes folders: what each target begins with.
#[test]
fn seeds_are_laid_out() {
    for target in &TARGETS {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("seeds");
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for (number, (_, text)) in corpus::corpus(target).into_iter().enumerate() {
            std::fs::write(folder.join(number.to_string()), text).expect("a seed can be written");
        }
    }
}
