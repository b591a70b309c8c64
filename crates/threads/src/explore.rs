//! Every interleaving of a scene, by loom; the judge reads each.
//!
//! loom runs the scene again and again, and each time it decides differently who goes on
//! where it matters. When it comes to its end, every order has been seen, but for orders of
//! independent steps, of which one stands for all; only then a claim *holds*.
//!
//! loom goes deep first, so the first violation that it finds is long-winded. Hence a scene is
//! explored with no preemption first, then with one, two and three, and without a bound at
//! last: a thread is preempted if another goes on although it could. The story is the
//! shortest of those with the fewest preemptions. It need not be the shortest of all.
//!
//! An exploration is left by unwinding from the scene's own thread, when all other threads
//! have ended: that is quiet and safe. loom itself panics where it gives up (too many steps,
//! threads that wait for each other for ever); that is caught, and is no verdict.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, Once, PoisonError};

use crate::claims::{Claim, judge};
use crate::event::Event;
use crate::handles::{Guards, HandleInfo, Variant};
use crate::scene::{Scene, Stage};
use crate::world::{Record, World};

/// When an exploration is given up.
#[derive(Clone)]
pub struct Limits {
    /// After so many executions.
    pub executions: u64,
    /// If one execution has more points at which loom may switch.
    pub branches: usize,
    /// When this says so; it is asked before each execution.
    pub should_stop: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            executions: 1_000_000,
            branches: 5_000,
            should_stop: Arc::new(|| false),
        }
    }
}

/// What is known of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In every interleaving.
    Holds,
    /// Here is one in which it is violated.
    Violated(Found),
    /// It is not known, for this reason.
    Unknown(String),
}

/// An execution that violates a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub(crate) events: Vec<Event>,
    /// Of which this is the event that violates.
    pub(crate) at: usize,
    /// Preemptions at most, if a bounded exploration found it.
    pub preemptions: Option<usize>,
}

/// What became of one claim in one scene.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The claim.
    pub claim: Claim,
    /// Interleavings of the exploration that gave the answer: all there are if the claim
    /// holds; all with so many preemptions if it is violated.
    pub executions: u64,
    /// The answer.
    pub verdict: Verdict,
}

/// The exploration of a scene ends before loom is done.
struct Left;

/// What the executions of one exploration come to.
#[derive(Default)]
struct Seen {
    executions: u64,
    found: BTreeMap<Claim, (Vec<Event>, usize)>,
    /// Why it was given up.
    given_up: Option<String>,
}

/// One exploration: what is looked for, and what was seen.
struct Search {
    claims: Vec<Claim>,
    /// Whether to look on for shorter executions after all claims are violated.
    shortest: bool,
    limits: Limits,
    seen: Mutex<Seen>,
}

/// Preemptions up to which the smallest number is looked for.
const PREEMPTIONS_MAX: usize = 3;

/// Explores a scene with a handle.
pub fn explore(
    handle: &HandleInfo,
    variant: &Variant,
    without: Option<&'static str>,
    scene: &Scene,
    limits: &Limits,
) -> Vec<Answer> {
    // Guards can be left out of the repaired variant only.
    let last = handle
        .variants
        .last()
        .is_some_and(|last| last.id == variant.id);
    let guards = Guards::without(without.filter(|_| last));
    let run = |claims: &[Claim], bound, shortest| {
        Search {
            claims: claims.to_vec(),
            shortest,
            limits: limits.clone(),
            seen: Mutex::default(),
        }
        .run(scene.play, variant.make, guards, bound)
    };
    let mut open = scene.claims.to_vec();
    let mut answers = BTreeMap::new();
    let bounds = (0..=PREEMPTIONS_MAX).map(Some).chain([None]);
    for bound in bounds {
        if open.is_empty() {
            break;
        }
        let seen = run(&open, bound, bound.is_some());
        for (claim, (events, at)) in seen.found {
            let found = Found {
                events,
                at,
                preemptions: bound,
            };
            answers.insert(claim, (seen.executions, Verdict::Violated(found)));
        }
        open.retain(|claim| !answers.contains_key(claim));
        if bound.is_none() {
            for claim in open.drain(..) {
                let verdict = match &seen.given_up {
                    Some(reason) => Verdict::Unknown(reason.clone()),
                    None => Verdict::Holds,
                };
                answers.insert(claim, (seen.executions, verdict));
            }
        }
    }
    let answer = |claim: &Claim| {
        let (executions, verdict) = answers.remove(claim)?;
        Some(Answer {
            claim: *claim,
            executions,
            verdict,
        })
    };
    scene.claims.iter().filter_map(answer).collect()
}

impl Search {
    fn run(
        self,
        play: fn(&Stage),
        make: fn(Arc<World>, Guards) -> Arc<dyn crate::handles::Handle>,
        guards: Guards,
        bound: Option<usize>,
    ) -> Seen {
        let search = Arc::new(self);
        let inside = search.clone();
        let branches = search.limits.branches;
        let ended = quietly(move || {
            builder(branches, bound).check(move || {
                inside.begins();
                let record = Arc::new(Record::default());
                let world = Arc::new(World::new(record.clone()));
                let handle = make(world.clone(), guards);
                play(&Stage::new(world, handle));
                inside.ends(&record);
            });
        });
        let mut seen = std::mem::take(&mut *search.seen());
        if let Err(panic) = ended
            && !panic.is::<Left>()
        {
            seen.given_up = Some(words(&*panic));
        }
        seen
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the exploration if it has used up what it may.
    fn begins(&self) {
        let mut seen = self.seen();
        if seen.executions >= self.limits.executions {
            let count = self.limits.executions;
            seen.given_up = Some(format!("it has more than {count} interleavings"));
        } else if (self.limits.should_stop)() {
            let count = seen.executions;
            seen.given_up = Some(format!("it was stopped after {count} interleavings"));
        } else {
            return;
        }
        drop(seen);
        resume_unwind(Box::new(Left));
    }

    /// Judges an execution. Leaves the exploration if there is nothing more to find.
    fn ends(&self, record: &Record) {
        let events = record.events();
        let mut seen = self.seen();
        seen.executions += 1;
        for (claim, at) in judge(&self.claims, &events) {
            let best = seen.found.get(&claim).map(|(_, best)| *best);
            if best.is_none_or(|best| at < best) {
                seen.found.insert(claim, (events[..=at].to_vec(), at));
            }
        }
        if !self.shortest && seen.found.len() == self.claims.len() {
            drop(seen);
            resume_unwind(Box::new(Left));
        }
    }
}

/// loom takes its settings from the environment where it is not told; it is told all.
fn builder(branches: usize, bound: Option<usize>) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.max_threads = loom::MAX_THREADS;
    builder.max_branches = branches;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.preemption_bound = bound;
    builder.checkpoint_file = None;
    builder.checkpoint_interval = usize::MAX;
    builder.expect_explicit_explore = false;
    builder.location = false;
    builder.log = false;
    builder
}

thread_local! {
    /// Whether a panic on this thread is loom's way to give up.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs loom; a panic inside it is a result and prints nothing.
fn quietly(work: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                tell(info);
            }
        }));
    });
    QUIET.set(true);
    let ended = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    ended
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_owned());
    if text.starts_with("deadlock") {
        return "loom found threads that wait for each other for ever".to_owned();
    }
    format!("loom gave up: {}", text.lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Key, Thread};
    use crate::handles::{HANDLES, Handle};

    fn limits() -> Limits {
        Limits {
            executions: 50_000,
            ..Limits::default()
        }
    }

    fn answers(scene: &str, limits: &Limits) -> Vec<Answer> {
        let handle = &HANDLES[1];
        let repaired = handle.variants.last().unwrap();
        let scene = handle.scenes.iter().find(|one| one.id == scene).unwrap();
        explore(handle, repaired, None, scene, limits)
    }

    #[track_caller]
    fn all_unknown(answers: &[Answer], reason: &str) {
        assert!(!answers.is_empty());
        for answer in answers {
            match &answer.verdict {
                Verdict::Unknown(said) => assert!(said.contains(reason), "{said}"),
                verdict => panic!("{verdict:?}"),
            }
        }
    }

    #[test]
    fn what_is_cut_short_is_unknown_and_never_holds() {
        let all = answers("two-threads", &limits())[0].executions;
        let exactly = Limits {
            executions: all,
            ..limits()
        };
        let holds = |answer: &Answer| answer.verdict == Verdict::Holds;
        assert!(answers("two-threads", &exactly).iter().all(holds));
        let fewer = Limits {
            executions: all - 1,
            ..limits()
        };
        all_unknown(
            &answers("two-threads", &fewer),
            "more than 50 interleavings",
        );
        let steps = Limits {
            branches: 20,
            ..limits()
        };
        all_unknown(
            &answers("two-threads", &steps),
            "loom gave up: Model exceeded",
        );
        let stopped = Limits {
            should_stop: Arc::new(|| true),
            ..limits()
        };
        all_unknown(
            &answers("two-threads", &stopped),
            "stopped after 0 interleavings",
        );
    }

    /// Takes its two mutexes in the order that the thread's number says.
    struct Crossed {
        first: loom::sync::Mutex<()>,
        second: loom::sync::Mutex<()>,
    }

    impl Handle for Crossed {
        fn lock(&self, me: Thread, _: Key, _: bool) -> bool {
            let (one, other) = match me {
                Thread::Caller(1) => (&self.first, &self.second),
                _ => (&self.second, &self.first),
            };
            let _one = one.lock();
            let _other = other.lock();
            true
        }

        fn unlock(&self, _: Thread, _: Key) -> bool {
            true
        }
    }

    #[test]
    fn threads_that_wait_for_each_other_for_ever_are_no_verdict_and_no_crash() {
        let handle = HandleInfo {
            id: "crossed",
            about: "",
            variants: &[Variant {
                id: "only",
                about: "",
                make: |_, _| {
                    Arc::new(Crossed {
                        first: loom::sync::Mutex::new(()),
                        second: loom::sync::Mutex::new(()),
                    })
                },
            }],
            scenes: &[Scene {
                id: "crossing",
                about: "",
                claims: &[Claim::Exclusion],
                variants: None,
                play: |stage| {
                    let other = stage.run(stage.caller(2), |t2| {
                        t2.lock(Key::A);
                    });
                    stage.caller(1).lock(Key::A);
                    other.join();
                    stage.end();
                },
            }],
            guards: &[],
        };
        let only = &handle.variants[0];
        let found = explore(&handle, only, None, &handle.scenes[0], &limits());
        all_unknown(&found, "wait for each other for ever");
        // And loom goes on working.
        let after = answers("handover", &limits());
        assert!(after.iter().all(|answer| answer.verdict == Verdict::Holds));
    }
}
