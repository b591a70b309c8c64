//! Free runs: working clients, real faults, and a history that is judged later.
//!
//! Nothing here decides who may do what when. Clients compete for the lock as
//! they please, a seeded nemesis injects the scenario's faults, and every
//! operation is written down before anybody looks at it. So a free run can show
//! a violation and never its absence; what it can do is contradict the model,
//! and that is what it is for.
//!
//! | part | what it does |
//! |---|---|
//! | `actor` | a client: a process that works under the lock and says what happens |
//! | `workload` | what is done under the lock: hold, coupon, lottery, guarded set |
//! | `store` | the guarded resource: a Redis of its own that no fault touches |
//! | `crew` | the actors of a run, started, stopped and killed |
//! | `setting` | what a scenario and a lock ask for |
//! | `free` | one run from the first server to the judged history |
//! | `finals` | what is left after a run and its faults |
//! | `commands` | what a lock sent to its servers, as events |
//! | `recorder` | the history, and figures on the way |
//! | `holders` | who holds just now, for the nemesis to aim at |
//! | `strikes` | which faults of a history hit anybody |
//! | `agreement` | what was observed beside what the model says |
//! | `rate` | n of N with a confidence interval |
//!
//! An actor is a process of its own, apart from the adapter that it drives:
//! what is done under the lock must stop when the client is stopped, or a pause
//! would not be one.

pub mod actor;
pub mod agreement;
mod commands;
mod crew;
mod finals;
pub mod free;
mod holders;
pub mod rate;
mod recorder;
pub mod setting;
mod stall;
mod store;
pub mod strikes;
mod workload;
