//! `starvation-freedom` as the pipeline answers it, beside the graph of naive states.

use std::path::Path;
use std::sync::Arc;

use lockproof_model::check::{
    CheckOptions, Checker, Chosen, ExploreOptions, Guard, Observer, ShouldStop, Sizes, Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Fair, Property};
use lockproof_trace::Trace;

use crate::endless::{DEMANDS, Demand, Graph};
use crate::follow::follow;
use crate::set;
use crate::world::{Setup, Texts};

const STATES_MAX: usize = 40_000;

struct NoClock;

impl Observer for NoClock {
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// What both sides say.
#[derive(Debug)]
struct Both {
    /// Moves before the first round; `None` if it holds.
    pipeline: Option<usize>,
    naive: Option<usize>,
    /// Without one demand of a fair run each.
    without: Vec<(Demand, Option<usize>)>,
}

/// `None` where one side can not say.
fn ask(file: &LockFile, words: &str, demands: &[Demand]) -> Option<Both> {
    let sizes = Sizes {
        clients: 2,
        ttl_ticks: 2,
        ..Sizes::for_file(file)
    };
    let never: ShouldStop = Arc::new(|| false);
    let sizes = sizes.fitted(file, Chosen::default(), &never);
    let mut set = set(words, 2);
    for switch in &mut set {
        switch.size = switch.fault.default_size(sizes.ttl_ticks);
    }
    let options = CheckOptions {
        sizes: sizes.clone(),
        properties: vec![Property::Fair(Fair::StarvationFreedom)],
        explore: ExploreOptions {
            workers: 1,
            ..ExploreOptions::default()
        },
        guard: Guard::usual(1),
        timed: false,
    };
    let mut checker = Checker::new(file, options).ok()?;
    let result = checker.check_set(&set, &NoClock).ok()?.pop()?;
    let mut setup = Setup {
        spins: false,
        file: file.clone(),
        config: checker.config(&set),
        clients: 2,
        ttl_ticks: i64::from(sizes.ttl_ticks),
        step_ms: sizes.step_ms(),
        switches: set,
        texts: Texts::Readable,
        attempts_max: u32::MAX,
        repairs: true,
    };
    let pipeline = match result.verdict {
        Verdict::Holds => None,
        Verdict::Unknown => return None,
        Verdict::Violated => {
            let trace = result.trace?;
            setup.config.timeout_ms = trace.setup.timeout_ms;
            setup.step_ms = trace.setup.tick_ms;
            Some(stem(&setup, trace))
        }
    };
    let graph = Graph::of(&setup, STATES_MAX)?;
    let less = |left: &Demand| {
        let rest: Vec<Demand> = demands.iter().copied().filter(|one| one != left).collect();
        (*left, graph.starves(&setup, &rest))
    };
    Some(Both {
        pipeline,
        naive: graph.starves(&setup, demands),
        without: DEMANDS.iter().map(less).collect(),
    })
}

/// How many moves lead to the first round.
fn stem(setup: &Setup, mut trace: Trace) -> usize {
    let repeats = trace.repeats.take().expect("an endless trace");
    trace.steps.truncate(repeats.rounds[0] as usize - 1);
    follow(setup, &trace)
        .expect("the stem can be followed")
        .length
}

fn small(name: &str) -> LockFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/soundness/liveness");
    LockFile::load(&folder.join(name)).expect("a small lock file")
}

const SMALL: [&str; 5] = [
    "takes-turns.lua",
    "takes-turns-and-holds-on.lua",
    "first-come-first-served.lua",
    "last-come-first-served.lua",
    "gives-up-its-place.lua",
];

fn questions() -> Vec<(&'static str, LockFile)> {
    let small = SMALL.into_iter().map(|name| (name, small(name)));
    let builtin = |name: &'static str| (name, LockFile::builtin(name).expect("a built-in lock"));
    let simple = [
        "exists-set",
        "setnx-del",
        "set-nx-px",
        "token-get-del",
        "delifeq",
        "rw-two-keys",
    ];
    small.chain(simple.map(builtin)).collect()
}

#[test]
fn whoever_starves_here_starves_in_the_pipeline_and_never_earlier() {
    let (mut compared, mut holds, mut exact, mut wrong) = (0, 0, 0, Vec::new());
    for (name, file) in questions() {
        for words in [
            "",
            "client-crash",
            "client-pause",
            "loss",
            "partition",
            "node-restart-none",
        ] {
            let Some(both) = ask(&file, words, &DEMANDS) else {
                println!("{name} {words:?}: not compared");
                continue;
            };
            println!("{name} {words:?}: {both:?}");
            compared += 1;
            holds += usize::from(both.naive.is_none());
            // The pipeline keeps apart states that are one here, so a round may begin later there
            // (docs/model.md, "Endless runs").
            let same = both.pipeline.is_some() == both.naive.is_some();
            exact += usize::from(both.pipeline == both.naive);
            if !same || both.pipeline < both.naive {
                wrong.push(format!("{name} {words:?}: {both:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        compared >= 60 && holds >= 3 && exact >= 58,
        "{compared} compared, {holds} hold, {exact} exact"
    );
}

/// Each demand keeps some run from being called fair: without it a lock that lets nobody
/// starve is told otherwise.
#[test]
fn a_demand_that_is_forgotten_is_noticed() {
    let mut noticed = Vec::new();
    for name in ["takes-turns.lua", "takes-turns-and-holds-on.lua"] {
        let both = ask(&small(name), "", &DEMANDS).expect("both sides know");
        assert_eq!((both.pipeline, both.naive), (None, None), "{name}");
        let told = both
            .without
            .into_iter()
            .filter(|(_, found)| found.is_some());
        noticed.extend(told.map(|(demand, _)| demand));
    }
    for demand in DEMANDS {
        assert!(noticed.contains(&demand), "{demand:?}");
    }
}
