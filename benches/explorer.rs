#[path = "../tests/explorer_support/mod.rs"]
mod explorer_support;
use explorer_support::grid::Grid;
use explorer_support::redlock::Redlock;
use lockproof::check::*;
use lockproof::world::System;
use std::sync::Arc;
use std::time::Instant;
fn hwm() -> u64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap();
    s.lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}
fn run<Y: System + 'static>(y: Y, w: usize, deadlock: bool) {
    let before = hwm();
    let t = Instant::now();
    let e = explore(
        Arc::new(y),
        ExploreOptions {
            workers: w,
            deadlock,
            ..Default::default()
        },
        |_| {},
    );
    println!(
        "{w} {deadlock}: {:?} {} states {} transitions depth {} viol {:?} dead {:?} {:?}",
        t.elapsed(),
        e.states,
        e.transitions,
        e.depth,
        e.violations
            .iter()
            .map(|v| v.as_ref().map(|p| p.steps.len()))
            .collect::<Vec<_>>(),
        e.deadlock.map(|p| p.steps.len()),
        e.stop_reason
    );
    println!("   bytes/state {}", (hwm() - before) * 1024 / e.states);
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let w: usize = a[2].parse().unwrap();
    let d = a[3] == "d";
    match a[1].as_str() {
        "grid" => run(
            Grid {
                counters: 4,
                limit: 56,
            },
            w,
            d,
        ),
        "m" => run(
            Redlock {
                clients: 2,
                nodes: 3,
                ttl: 3,
                crashes: 1,
                amnesias: 1,
                expires: true,
            },
            w,
            d,
        ),
        "l" => run(
            Redlock {
                clients: 2,
                nodes: 3,
                ttl: 7,
                crashes: 1,
                amnesias: 1,
                expires: true,
            },
            w,
            d,
        ),
        "x" => run(
            Redlock {
                clients: 2,
                nodes: 5,
                ttl: 3,
                crashes: 1,
                amnesias: 1,
                expires: true,
            },
            w,
            d,
        ),
        _ => {}
    }
}
