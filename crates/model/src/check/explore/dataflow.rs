//! The search as a dataflow: one operator in a loop, on `timely`.
//!
//! ```text
//!        +--> exchange by owner --> expand --+
//!        +------ feedback: level + 1 <-------+
//! ```
//!
//! A timestamp is a level. Whoever expands level n holds a capability for n, and
//! parcels sent with it come back as n + 1. When the frontier of the input has
//! passed n + 1, no worker can find another state of that level: only then may
//! it be expanded. So levels are exact and the first violation is a shortest
//! one, without a barrier of our own, and idle workers sleep in timely.
//!
//! timely moves single records and has no backpressure. So a record is a parcel
//! of states, and a worker expands a few thousand states at a turn, then reads
//! its mail: what is in flight stays small even in a level of millions.
//!
//! A panic must not unwind through timely, whose other workers would wait for
//! ever for this one's progress. It is caught here, halts the ledger, and this
//! worker goes on as one that reads its mail and throws it away.
//!
//! Everything that crosses between workers crosses in parcels and timestamps,
//! so several processes need only another `CommunicationConfig` and bytes for a
//! state (see [`Parcel`]). The ledger and the passes after the search
//! ([`super::trace`], [`super::sweep`]) read shared memory and would have to be
//! asked over the wire.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Capability, ConnectLoop, Feedback};
use timely::progress::frontier::MutableAntichain;
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};

use super::engine::{Engine, Searched};
use super::ledger::Ledger;
use super::{ShouldStop, StopReason, panic_text};
use crate::world::System;

/// States on their way to the worker that owns them.
#[derive(Clone)]
struct Parcel<S> {
    to: usize,
    states: Vec<S>,
}

/// timely asks every record for a byte form, and uses it only between
/// processes. The states of a [`System`] have none, and threads do not need it.
const IN_PROCESS: &str = "states travel between threads only; run the search in one process";

impl<S> Serialize for Parcel<S> {
    fn serialize<Z: Serializer>(&self, _: Z) -> Result<Z::Ok, Z::Error> {
        Err(ser::Error::custom(IN_PROCESS))
    }
}

impl<'de, S> Deserialize<'de> for Parcel<S> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom(IN_PROCESS))
    }
}

type Output<'a, S> = OutputBuilderSession<'a, u32, CapacityContainerBuilder<Vec<Parcel<S>>>>;

/// Runs the engines to the end, one thread each.
pub(super) fn run<Y: System + 'static>(
    engines: Vec<Engine<Y>>,
    ledger: Arc<Ledger>,
    should_stop: ShouldStop,
) -> Result<Vec<Searched<Y::State>>, String> {
    let communication = match engines.len() {
        1 => CommunicationConfig::Thread,
        workers => CommunicationConfig::Process(workers),
    };
    // Not `timely::execute_from_args` or its kin: nothing here may read the
    // command line or the environment.
    let (builders, guard) = communication.try_build()?;
    let engines = Mutex::new(engines.into_iter().map(Some).collect::<Vec<_>>());
    let guards =
        timely::execute::execute_from(builders, guard, WorkerConfig::default(), move |worker| {
            let engine =
                engines.lock().unwrap_or_else(PoisonError::into_inner)[worker.index()].take();
            engine.map(|engine| {
                work(
                    worker,
                    engine,
                    Arc::clone(&ledger),
                    Arc::clone(&should_stop),
                )
            })
        })?;
    let searched = guards
        .join()
        .into_iter()
        .collect::<Result<Option<Vec<_>>, _>>()?;
    searched.ok_or_else(|| "two workers had the same index".to_owned())
}

fn work<Y: System + 'static>(
    worker: &mut Worker,
    engine: Engine<Y>,
    ledger: Arc<Ledger>,
    should_stop: ShouldStop,
) -> Searched<Y::State> {
    // Shared with the operator, which is gone when the dataflow is done.
    let engine = Rc::new(RefCell::new(engine));
    let shared = Rc::clone(&engine);
    worker.dataflow::<u32, _, _>(|scope| {
        let (handle, cycle) = scope.feedback::<Vec<Parcel<Y::State>>>(1);
        let exchange = Exchange::new(|parcel: &Parcel<Y::State>| parcel.to as u64);
        let expanded = cycle.unary_frontier(exchange, "Expand", |capability, info| {
            let activator = scope.activator_for(info.address);
            let first = shared.borrow().tail_has_states().then_some(capability);
            let mut pace = Pace {
                at: None,
                next: first,
            };
            move |(input, frontier), output| {
                let mut engine = shared.borrow_mut();
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    input.for_each(|time, parcels| {
                        pace.arrive(&mut engine, *time.time(), || time.retain(0), parcels);
                    });
                    pace.advance(&mut engine, frontier, output);
                    if should_stop() {
                        ledger.halt(StopReason::Stopped);
                    }
                }));
                if let Err(panic) = &outcome {
                    ledger.halt(StopReason::Panicked(panic_text(&**panic)));
                }
                if ledger.halted() {
                    engine.abandon();
                    pace = Pace {
                        at: None,
                        next: None,
                    };
                }
                // After a panic the rest of the mail is still to be read.
                if engine.busy() || outcome.is_err() {
                    activator.activate();
                }
            }
        });
        expanded.connect_loop(handle);
    });
    while worker.has_dataflows() {
        worker.step_or_park(None);
    }
    let mut engine = engine.borrow_mut();
    engine.finish()
}

/// The capabilities of one worker: the right to send.
struct Pace {
    /// For the level that is being expanded.
    at: Option<Capability<u32>>,
    /// For the next one, once this worker has a state of it.
    next: Option<Capability<u32>>,
}

impl Pace {
    /// Takes in the parcels of `level`.
    fn arrive<Y: System>(
        &mut self,
        engine: &mut Engine<Y>,
        level: u32,
        retain: impl FnOnce() -> Capability<u32>,
        parcels: &mut Vec<Parcel<Y::State>>,
    ) {
        // Data may overtake the news of the frontier. But mail for a level says
        // that somebody expands the one before it, and nobody may do so until
        // all the states of that one have arrived everywhere.
        if let Some(before) = level.checked_sub(1)
            && engine.tail() < level
        {
            self.begin(engine, before);
        }
        self.next.get_or_insert_with(retain);
        for parcel in parcels.drain(..) {
            engine.receive(&parcel.states);
        }
    }

    /// Begins a level if its time has come, and works one turn.
    fn advance<Y: System>(
        &mut self,
        engine: &mut Engine<Y>,
        frontier: &MutableAntichain<u32>,
        output: &mut Output<'_, Y::State>,
    ) {
        let due = self
            .next
            .as_ref()
            .map(|next| *next.time())
            .filter(|level| !frontier.less_equal(level));
        if let Some(level) = due.filter(|_| self.at.is_none()) {
            self.begin(engine, level);
        }
        let Some(at) = &self.at else { return };
        let more = engine.turn();
        if self.next.is_none() && engine.tail_has_states() {
            self.next = Some(at.delayed(&(at.time() + 1)));
        }
        let mut session = output.session(at);
        for (to, states) in engine.outgoing(!more) {
            session.give(Parcel { to, states });
        }
        drop(session);
        if !more {
            self.at = None;
        }
    }

    fn begin<Y: System>(&mut self, engine: &mut Engine<Y>, level: u32) {
        self.at = self.next.take();
        engine.close(level);
        if !engine.busy() {
            self.at = None;
        }
    }
}
