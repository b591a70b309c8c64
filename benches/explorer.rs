//! What the search costs, next to stateright's on the same system.
//!
//! `cargo bench --bench explorer` compares whole processes first: each tool runs
//! alone in a child of its own, so that peak memory is its own, and the tools
//! take turns, so that a busy machine slows both. The least of the rounds
//! counts. Then criterion measures small searches.
//!
//! Two systems: the world itself (redlock with four faults, as `lockproof check`
//! explores it) and a hand-written model, whose steps cost almost nothing.
//! stateright runs twice on each: `adapter` is the `Model` that lockproof gives to
//! it, which judges the same properties as the search does; `bare` is one property
//! that always holds, to see what judging costs.

#[allow(dead_code)] // The tests of that name use the rest.
#[path = "../tests/support/explorer/mod.rs"]
mod explorer_support;

use std::hash::Hash;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use explorer_support::grid::Grid;
use explorer_support::redlock::{Redlock, SMALL};
use lockproof_model::check::stateright::Adapter;
use lockproof_model::check::{CheckOptions, Checker, ExploreOptions, Guard, Sizes, explore};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Fault, Switch};
use lockproof_model::world::packed::Narrow;
use lockproof_model::world::{GoalSet, System};
use stateright::{Checker as _, Model, Property};

/// 7,170,487 states.
const LARGE: Redlock = Redlock { ttl: 7, ..SMALL };
const ROUNDS: usize = 2;

/// A system as a user of stateright would write it down.
struct Bare<Y>(Y);

impl<Y: System> Model for Bare<Y> {
    type State = Y::State;
    type Action = (u32, Y::State);

    fn init_states(&self) -> Vec<Y::State> {
        self.0.initial()
    }

    fn actions(&self, state: &Y::State, actions: &mut Vec<Self::Action>) {
        self.0
            .successors(state, &mut |next| actions.push((next.action.0, next.state)));
    }

    fn next_state(&self, _: &Y::State, action: Self::Action) -> Option<Y::State> {
        Some(action.1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("explored", |_, _| true)]
    }
}

/// One run of one tool.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    cpu_seconds: f64,
    peak_kib: f64,
    states: f64,
}

fn run_ours(system: impl System + 'static, workers: usize, deadlock: bool) -> u64 {
    explore(
        Arc::new(system),
        ExploreOptions {
            workers,
            branching: if deadlock { GoalSet::MAX } else { 0 },
            ..ExploreOptions::default()
        },
        |_| {},
    )
    .states
}

fn run_stateright(
    model: impl Model<State: Hash + Send + Sync + Clone + Eq, Action: Clone + Eq>
    + Send
    + Sync
    + 'static,
    threads: usize,
) -> u64 {
    model
        .checker()
        .threads(threads)
        .spawn_bfs()
        .join()
        .unique_state_count() as u64
}

/// Redlock on three nodes under four faults: 4,358,244 states.
fn world() -> Narrow<2> {
    let file = LockFile::builtin("redlock").expect("a built-in lock loads");
    let options = CheckOptions {
        sizes: Sizes::for_file(&file),
        properties: Vec::new(),
        explore: ExploreOptions::default(),
        guard: Guard {
            seed: 1,
            walks: 0,
            length: 0,
        },
        timed: false,
    };
    let faults = [
        Fault::ClientCrash,
        Fault::ClientPause,
        Fault::Loss,
        Fault::RestartNone,
    ];
    let switches = faults.map(|fault| Switch {
        fault,
        budget: 1,
        size: fault.default_size(3),
    });
    let mut checker = Checker::new(&file, options).expect("sizes fit");
    let world = checker.world(&switches).expect("the lock closes");
    assert_eq!(world.words(), 2, "as many as a check keeps");
    Narrow(Arc::new(world))
}

/// In the child: runs a tool and prints its cost.
fn child(tool: &str, threads: usize, system: &str) {
    match system {
        "world" => measure(world(), tool, threads),
        _ => measure(LARGE, tool, threads),
    }
}

fn measure<Y: System + 'static>(system: Y, tool: &str, threads: usize) {
    let start = Instant::now();
    let states = match tool {
        "ours" => run_ours(system, threads, false),
        "deadlock" => run_ours(system, threads, true),
        "adapter" => run_stateright(Adapter::new(Arc::new(system)), threads),
        _ => run_stateright(Bare(system), threads),
    };
    println!(
        "{} {} {} {states}",
        start.elapsed().as_secs_f64(),
        cpu_seconds(),
        peak_kib()
    );
}

/// The most memory that this process ever held.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this comparison needs Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .expect("the kernel reports VmHWM");
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("VmHWM is a number")
}

/// Processor time of all threads; fields 14 and 15, in ticks of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this comparison needs Linux");
    let fields = stat.rsplit_once(')').expect("a name in brackets").1;
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().expect("ticks are a number"))
        .sum::<f64>()
        / 100.0
}

/// In the parent: runs a tool in a child.
fn cost(tool: &str, threads: usize, system: &str) -> Cost {
    let own = std::env::current_exe().expect("a running program has a path");
    let output = Command::new(own)
        .args(["--child", tool, &threads.to_string(), system])
        .output()
        .expect("the child starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    let [seconds, cpu_seconds, peak_kib, states] = numbers[..] else {
        panic!("{tool} failed: {}", String::from_utf8_lossy(&output.stderr));
    };
    Cost {
        seconds,
        cpu_seconds,
        peak_kib,
        states,
    }
}

fn least(costs: &[Cost]) -> Cost {
    let min = |part: fn(&Cost) -> f64| costs.iter().map(part).fold(f64::INFINITY, f64::min);
    Cost {
        seconds: min(|cost| cost.seconds),
        cpu_seconds: min(|cost| cost.cpu_seconds),
        peak_kib: min(|cost| cost.peak_kib),
        states: min(|cost| cost.states),
    }
}

fn compare(system: &str) {
    let tools = [
        ("adapter", 2),
        ("bare", 2),
        ("ours", 2),
        ("ours", 1),
        ("deadlock", 2),
    ];
    let mut costs = vec![Vec::new(); tools.len()];
    for _ in 0..ROUNDS {
        for (costs, (tool, threads)) in costs.iter_mut().zip(tools) {
            costs.push(cost(tool, threads, system));
        }
    }
    let costs: Vec<Cost> = costs.iter().map(|costs| least(costs)).collect();
    println!(
        "\n{system}: {} states, least of {ROUNDS} rounds\n",
        costs[0].states
    );
    println!(
        "| search | threads | wall s | cpu s | bytes a state | times faster | times smaller |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (cost, (tool, threads)) in costs.iter().zip(tools) {
        assert_eq!(
            cost.states, costs[0].states,
            "the tools disagree on the number of states"
        );
        println!(
            "| {tool} | {threads} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} |",
            cost.seconds,
            cost.cpu_seconds,
            cost.peak_kib * 1024.0 / cost.states,
            costs[0].seconds / cost.seconds,
            costs[0].peak_kib / cost.peak_kib,
        );
    }
}

fn small(criterion: &mut Criterion) {
    let grid = Grid {
        counters: 4,
        limit: 20,
    };
    let mut group = criterion.benchmark_group("explore");
    group.sample_size(10);
    for workers in [1, 2] {
        let options = ExploreOptions {
            workers,
            ..ExploreOptions::default()
        };
        group.throughput(Throughput::Elements(grid.states()));
        group.bench_function(
            format!("grid of {} states, {workers} workers", grid.states()),
            |bench| {
                bench.iter(|| explore(Arc::new(grid), options.clone(), |_| {}).states);
            },
        );
        group.throughput(Throughput::Elements(152_270));
        group.bench_function(
            format!("redlock of 152270 states, {workers} workers"),
            |bench| {
                bench.iter(|| run_ours(SMALL, workers, false));
            },
        );
    }
    group.finish();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--child") => {
            return child(
                &arguments[2],
                arguments[3].parse().expect("a number of threads"),
                arguments.get(4).map_or("", String::as_str),
            );
        }
        // Under `cargo test` criterion only tries each function once.
        Some("--bench") => ["world", "hand-written"].into_iter().for_each(compare),
        _ => {}
    }
    let mut criterion = Criterion::default().configure_from_args();
    small(&mut criterion);
    criterion.final_summary();
}
