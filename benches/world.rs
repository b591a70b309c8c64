//! What a check is made of: closing a lock, stepping a world, a whole check,
//! making a path concrete.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockproof_model::check::{CheckOptions, Checker, ExploreOptions, Guard, Observer, Sizes};
use lockproof_model::lock::LockFile;
use lockproof_model::world::System;
use lockproof_model::world::catalogue::{Fault, Property, Switch};
use lockproof_model::world::walk::random_walk;

struct Silent;

impl Observer for Silent {
    fn seconds(&self) -> f64 {
        0.0
    }
}

fn file(name: &str) -> LockFile {
    LockFile::builtin(name).expect("a built-in lock loads")
}

fn options(file: &LockFile, walks: u32) -> CheckOptions {
    CheckOptions {
        sizes: Sizes::for_file(file),
        properties: Property::usual(false),
        explore: ExploreOptions {
            workers: 2,
            ..ExploreOptions::default()
        },
        guard: Guard {
            walks,
            ..Guard::usual(1)
        },
        timed: false,
    }
}

fn set(fault: Fault) -> Vec<Switch> {
    vec![Switch {
        fault,
        budget: 1,
        size: fault.default_size(3),
    }]
}

fn closing(c: &mut Criterion) {
    let mut group = c.benchmark_group("close");
    group.sample_size(10);
    for name in ["token", "redlock"] {
        let file = file(name);
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut checker = Checker::new(&file, options(&file, 0)).expect("sizes fit");
                black_box(checker.world(&[]).expect("the lock closes").words())
            });
        });
    }
    group.finish();
}

fn stepping(c: &mut Criterion) {
    let file = file("redlock");
    let mut checker = Checker::new(&file, options(&file, 0)).expect("sizes fit");
    let world = checker.world(&set(Fault::Loss)).expect("the lock closes");
    let states: Vec<_> = (0..20)
        .flat_map(|seed| random_walk(&world, seed, 60))
        .map(|(_, state)| state)
        .collect();
    c.bench_function("step: successors of 1200 redlock states", |b| {
        b.iter(|| {
            let mut count = 0u64;
            for state in &states {
                world.successors(state, &mut |next| count += u64::from(next.violates == 0));
            }
            black_box(count)
        });
    });
}

fn checking(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    group.sample_size(10);
    let usual = Guard::usual(1).walks;
    // The guard walks after the search: its cost is the difference of two lines.
    for (name, fault, walks) in [
        ("token", Fault::ClientPause, usual),
        ("redlock", Fault::Loss, usual),
        ("redlock", Fault::Loss, 0),
    ] {
        let file = file(name);
        let set = set(fault);
        group.bench_function(
            format!("{name} under {}, {walks} walks", fault.info().id),
            |b| {
                b.iter(|| {
                    let mut checker =
                        Checker::new(&file, options(&file, walks)).expect("sizes fit");
                    black_box(
                        checker
                            .check_set(&set, &Silent)
                            .expect("the check runs")
                            .len(),
                    )
                });
            },
        );
    }
    group.finish();
}

fn walking(c: &mut Criterion) {
    let file = file("token");
    let mut checker = Checker::new(&file, options(&file, 0)).expect("sizes fit");
    c.bench_function("concrete: one walk of 40 moves", |b| {
        b.iter(|| {
            black_box(
                checker
                    .walks(&set(Fault::Loss), 1..2, 40)
                    .expect("walks")
                    .len(),
            )
        });
    });
}

criterion_group!(benches, closing, stepping, checking, walking);
criterion_main!(benches);
