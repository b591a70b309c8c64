//! loom compared with a scheduler of our own.
//!
//! Two scenes are written down here once more, as threads of steps over a small state, from
//! the Java sources and not from the handles. A recursion runs the steps in every order,
//! without leaving one out. What can be observed must be the same set of observations as
//! loom's executions give: the order of all that happens to the key, and how it ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::claims::{Claim, judge};
use crate::event::{Effect, Event, Key, Reply, What};
use crate::handles::{Guards, handle};
use crate::scene::Stage;
use crate::world::{Record, World};

/// What happens to the key in its order, and whether the claim is violated.
type Observed = (Vec<String>, bool);

/// What loom's executions of a scene come to.
fn by_loom(id: &str, scene: &str, claim: Claim) -> BTreeSet<Observed> {
    let handle = handle(id).unwrap();
    let make = handle.variants[0].make;
    let play = handle
        .scenes
        .iter()
        .find(|one| one.id == scene)
        .unwrap()
        .play;
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let inside = all.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = None;
    builder.check(move || {
        let record = Arc::new(Record::default());
        let world = Arc::new(World::new(record.clone()));
        let handle = make(world.clone(), Guards::default());
        play(&Stage::new(world, handle));
        let events = record.events();
        let key: Vec<String> = events.iter().filter_map(on_the_key).collect();
        let violated = !judge(&[claim], &events).is_empty();
        let mut all = inside.lock().unwrap();
        all.insert((key, violated));
    });
    let mut all = all.lock().unwrap();
    std::mem::take(&mut *all)
}

/// An event of key a in a word, if it is one after the scene has begun in earnest.
fn on_the_key(event: &Event) -> Option<String> {
    let who = format!("{:?}", event.who);
    match event.what {
        What::Releases(Key::A) => Some(format!("{who} releases")),
        What::Command {
            command,
            key: Key::A,
            reply,
            effect,
            ..
        } => {
            let yes = !matches!(reply, Reply::Nil | Reply::Zero | Reply::Busy);
            let other = matches!(effect, Effect::Extended { own: false, .. });
            let other = if other { " of another hold" } else { "" };
            Some(format!("{who} {command:?} {yes}{other}"))
        }
        _ => None,
    }
}

/// A thread's next step: it changes the state and says what follows, until it is done.
type Step<S> = fn(&mut S) -> Next<S>;

enum Next<S> {
    Step(Step<S>),
    Done,
}

/// Runs the threads in every order, and hands each final state to `end`.
fn every_order<S: Clone>(state: &S, threads: &[Option<Step<S>>], end: &mut impl FnMut(&S)) {
    let mut over = true;
    for (at, thread) in threads.iter().enumerate() {
        let Some(step) = thread else {
            continue;
        };
        over = false;
        let mut after = state.clone();
        let mut others = threads.to_vec();
        others[at] = match step(&mut after) {
            Next::Step(next) => Some(next),
            Next::Done => None,
        };
        every_order(&after, &others, end);
    }
    if over {
        end(state);
    }
}

/// `RedissonBaseLock`: T1 has the lock, an entry is in the map, a timer is scheduled.
#[derive(Clone, Default)]
struct Handover {
    key: Vec<String>,
    owner: Option<u8>,
    /// The entry in the map, as a number into `entries`.
    map: Option<usize>,
    entries: Vec<Entry>,
    timers: BTreeSet<u8>,
    /// What T1 and T2 have in their hands.
    t1: usize,
    t2: usize,
    timeout: Option<u8>,
    t2_holds: bool,
}

#[derive(Clone, Default)]
struct Entry {
    threads: Vec<u8>,
    timeout: Option<u8>,
}

fn unlock(s: &mut Handover) -> Next<Handover> {
    s.key.push("Caller(1) releases".into());
    Next::Step(|s| {
        s.owner = None;
        s.key.push("Caller(1) UnlockScript true".into());
        Next::Step(|s| match s.map {
            Some(entry) => {
                s.t1 = entry;
                Next::Step(remove_thread)
            }
            None => Next::Done,
        })
    })
}

fn remove_thread(s: &mut Handover) -> Next<Handover> {
    s.entries[s.t1].threads.retain(|thread| *thread != 1);
    Next::Step(|s| {
        if !s.entries[s.t1].threads.is_empty() {
            return Next::Done;
        }
        Next::Step(|s| {
            s.timeout = s.entries[s.t1].timeout;
            Next::Step(|s| {
                if let Some(timer) = s.timeout {
                    s.timers.remove(&timer);
                }
                Next::Step(|s| {
                    s.map = None;
                    Next::Done
                })
            })
        })
    })
}

fn lock(s: &mut Handover) -> Next<Handover> {
    if s.owner.is_some() {
        s.key.push("Caller(2) LockScript false".into());
        return Next::Done;
    }
    s.owner = Some(2);
    s.t2_holds = true;
    s.key.push("Caller(2) LockScript true".into());
    Next::Step(|s| match s.map {
        Some(old) => {
            s.t2 = old;
            Next::Step(|s| {
                s.entries[s.t2].threads.push(2);
                Next::Done
            })
        }
        None => {
            s.entries.push(Entry {
                threads: vec![2],
                timeout: None,
            });
            s.map = Some(s.entries.len() - 1);
            Next::Step(renew_expiration)
        }
    })
}

fn renew_expiration(s: &mut Handover) -> Next<Handover> {
    let Some(entry) = s.map else {
        return Next::Done;
    };
    s.t2 = entry;
    Next::Step(|s| {
        s.timers.insert(2);
        Next::Step(|s| {
            s.entries[s.t2].timeout = Some(2);
            Next::Done
        })
    })
}

#[test]
fn a_scheduler_of_our_own_sees_what_loom_sees_of_a_watchdog_that_is_handed_over() {
    let first = Handover {
        key: vec!["Caller(1) LockScript true".into()],
        owner: Some(1),
        map: Some(0),
        entries: vec![Entry {
            threads: vec![1],
            timeout: Some(1),
        }],
        timers: BTreeSet::from([1]),
        ..Handover::default()
    };
    let mut ours = BTreeSet::new();
    every_order(&first, &[Some(unlock), Some(lock)], &mut |s| {
        let unrenewed = s.t2_holds && s.timers.is_empty();
        ours.insert((s.key.clone(), unrenewed));
    });
    let looms = by_loom("redisson-watchdog", "handover", Claim::RenewalRuns);
    assert_eq!(ours, looms);
    assert!(ours.iter().any(|(_, violated)| *violated));
    assert!(ours.iter().any(|(_, violated)| !*violated));
}

/// `RedisDistributedLock`: T1 has the lock and its renewal has just woken.
#[derive(Clone)]
struct Again {
    key: Vec<String>,
    flag: bool,
    /// Which of T1's holds the key is of.
    owner: Option<u8>,
    other_extended: bool,
}

fn unlock_and_lock(s: &mut Again) -> Next<Again> {
    s.key.push("Caller(1) releases".into());
    Next::Step(|s| {
        s.flag = false;
        Next::Step(|s| {
            let there = s.owner.take().is_some();
            s.key.push(format!("Caller(1) DeleteIf {there}"));
            Next::Step(|s| {
                s.owner = Some(2);
                s.key.push("Caller(1) SetNx true".into());
                Next::Done
            })
        })
    })
}

fn renewal(s: &mut Again) -> Next<Again> {
    if !s.flag {
        return Next::Done;
    }
    Next::Step(|s| {
        let other = s.owner == Some(2);
        s.other_extended |= other;
        let there = s.owner.is_some();
        let of = if other { " of another hold" } else { "" };
        s.key.push(format!("Renewal(1) ExpireIf {there}{of}"));
        Next::Done
    })
}

#[test]
fn a_scheduler_of_our_own_sees_what_loom_sees_of_a_renewal_that_wakes_too_late() {
    let first = Again {
        // The renewal renews at once, and when it wakes the lease has just ended.
        key: vec![
            "Caller(1) SetNx true".into(),
            "Renewal(1) ExpireIf true".into(),
        ],
        flag: true,
        owner: None,
        other_extended: false,
    };
    let mut ours = BTreeSet::new();
    every_order(&first, &[Some(unlock_and_lock), Some(renewal)], &mut |s| {
        ours.insert((s.key.clone(), s.other_extended));
    });
    let scene = "same-lock-again";
    let looms = by_loom("threadlocal-reentrant", scene, Claim::OwnExtension);
    assert_eq!(ours, looms);
    assert_eq!(ours.iter().filter(|(_, violated)| *violated).count(), 1);
}
