//! lockproof proves or breaks distributed locks built on Redis.
//!
//! A lock is written once, as a Lua file with its Redis scripts. The same text is explored
//! in a formal model and replayed on real redis-servers; a verdict counts only when both
//! sides agree. The program `lockproof` does that from a command line. This library does
//! it from Rust, in four steps:
//!
//! | step | module |
//! |---|---|
//! | load a lock file | [`lock`] |
//! | check it: every interleaving and every allowed fault | [`check`] |
//! | replay a counterexample on real servers | [`trace`], [`replay`] |
//! | judge the history of a free run, of whatever tool recorded it | [`history`] |
//!
//! ```
//! use lockproof::check::{CheckOptions, Checker, Fault, Verdict};
//! use lockproof::lock::LockFile;
//!
//! // A lock that forgets its expiry when its client dies between two commands.
//! let text = r#"
//! return {
//!   name = "two-commands",
//!   acquire = function(lock)
//!     local set = redis("SETNX", lock.key, lock.token)
//!     if set ~= 1 then return busy() end
//!     redis("PEXPIRE", lock.key, lock.ttl)
//!     return held()
//!   end,
//!   release = function(lock) redis("DEL", lock.key) end,
//! }
//! "#;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("two-commands.lua");
//! std::fs::write(&path, text)?;
//!
//! let file = LockFile::load(&path)?;
//! let options = CheckOptions::for_file(&file);
//! let crash = vec![Fault::ClientCrash.switch(options.sizes.ttl_ticks)];
//! let report = Checker::new(&file, options)?.check(&[crash], &())?;
//! let free = report.results.iter().find(|cell| cell.property == "deadlock-freedom");
//! let free = free.expect("every check judges it");
//! assert_eq!(free.verdict, Verdict::Violated);
//! println!("{} steps", free.trace.as_ref().map_or(0, |trace| trace.steps.len()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is exported here is what lockproof promises to keep. It is taken from crates of
//! lockproof's own, which may change with every version; two of them are of use alone:
//! `lockproof-redis`, the formal server, and `lockproof-history`, the oracles.

pub mod lock {
    //! Lock files: one lock with its Redis scripts.
    //!
    //! ```
    //! use lockproof::lock::{LockFile, builtin_names};
    //!
    //! assert!(builtin_names().contains(&"redlock"));
    //! let file = LockFile::builtin("redlock")?;
    //! assert_eq!(file.nodes.default, 3);
    //! let wrong = LockFile::load("no-such-file.lua".as_ref()).unwrap_err();
    //! assert!(wrong.to_string().contains("no-such-file.lua"));
    //! # Ok::<(), lockproof::lock::LockError>(())
    //! ```

    pub use lockproof_model::lock::{LockError, LockFile, NodeCount, builtin_names};
}

pub mod check {
    //! The model: every interleaving of clients, servers, messages and time, under the
    //! faults that are allowed.
    //!
    //! ```
    //! use lockproof::check::{CheckOptions, Checker, FAULTS, Fault, Verdict};
    //! use lockproof::lock::LockFile;
    //!
    //! let file = LockFile::builtin("token")?;
    //! let options = CheckOptions::for_file(&file);
    //! // By its name, as on the command line, or as a variant.
    //! let named = FAULTS.iter().find(|info| info.id == "loss").expect("it is one");
    //! assert_eq!(named.fault, Fault::Loss);
    //! let sets = [vec![], vec![Fault::Loss.switch(options.sizes.ttl_ticks)]];
    //! let report = Checker::new(&file, options)?.check(&sets, &())?;
    //! let mut exclusion = report.results.iter().filter(|cell| cell.property.starts_with("mutual"));
    //! assert!(exclusion.all(|cell| cell.verdict == Verdict::Holds));
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use lockproof_model::check::{
        CheckError, CheckOptions, CheckReport, CheckResult, Checker, ExploreOptions, Guard,
        Observer, Progress, ShouldStop, Sizes, Verdict,
    };
    pub use lockproof_model::world::catalogue::{
        Branching, FAULTS, Fair, Fault, FaultInfo, PROPERTIES, Property, PropertyInfo, Safety,
        Switch,
    };
}

pub mod trace {
    //! Counterexamples: the file that joins model and real servers.
    //!
    //! ```
    //! use lockproof::check::{CheckOptions, Checker, Fault};
    //! use lockproof::lock::LockFile;
    //! use lockproof::trace;
    //!
    //! let file = LockFile::builtin("setnx-expire")?;
    //! let options = CheckOptions::for_file(&file);
    //! let crash = vec![Fault::ClientCrash.switch(options.sizes.ttl_ticks)];
    //! let report = Checker::new(&file, options)?.check(&[crash], &())?;
    //! let found = report.results.iter().find_map(|cell| cell.trace.as_ref());
    //! let found = found.expect("a crash between its commands leaves the lock taken");
    //! let text = trace::to_json(found);
    //! assert_eq!(&trace::parse(text.as_bytes())?, found);
    //! # Ok::<(), Box<dyn std::error::Error>>(())
    //! ```

    pub use lockproof_trace::{
        Assumption, ClientView, Event, Inconsistency, LockRef, Outcome, Setup, Source, Step, Story,
        Trace, TraceError, parse, read, story, to_json, validate, write,
    };
}

pub mod replay {
    //! The gate: a trace, enforced step by step on real redis-servers.
    //!
    //! ```no_run
    //! use lockproof::replay::{GateOptions, Library, find_default, replay, server_directories};
    //! use lockproof::trace;
    //!
    //! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    //! let trace = trace::read("traces/token.json".as_ref())?;
    //! let server = find_default(&server_directories())?;
    //! // The gate's clients are processes of the program `lockproof`.
    //! let gate = GateOptions::new("/usr/bin/lockproof".into(), server, Library::built_in()?);
    //! println!("{}", replay(&trace, "token", &gate).await.verdict);
    //! # Ok(())
    //! # }
    //! ```

    pub use lockproof_lab::binaries::{Binary, find_default, inspect, server_directories};
    pub use lockproof_lab::clock::Library;
    pub use lockproof_lab::proxy::ProxyKind;
    pub use lockproof_replay::{
        Confirmation, GateError, GateOptions, GatePool, Happening, RealSide, RealStep,
        ReplayReport, ReplayVerdict, replay,
    };
}

pub mod history {
    //! Histories of free runs, and the oracles that judge them.
    //!
    //! ```
    //! use lockproof::history::{FindingVerdict, JudgeOptions, Reader, judge};
    //!
    //! // Client 1 acquires while client 0 holds.
    //! let history = r#"{"schema":"lockproof.history/1","lock":"mine","workload":"hold","ttl_ms":2000,"clients":2,"nodes":1,"seed":1,"versions":{},"params":{}}
    //! {"time":0,"process":0,"type":"invoke","f":"acquire","value":{"token":"t0","key":"lock"}}
    //! {"time":400000,"process":0,"type":"ok","f":"acquire","value":{"validity_ms":null,"fence":null}}
    //! {"time":500000,"process":1,"type":"invoke","f":"acquire","value":{"token":"t1","key":"lock"}}
    //! {"time":900000,"process":1,"type":"ok","f":"acquire","value":{"validity_ms":null,"fence":null}}
    //! {"time":1000000,"process":"harness","type":"info","f":"end","value":{"complete":true}}
    //! "#;
    //! let judgement = judge(Reader::new(history.as_bytes())?, &JudgeOptions::default())?;
    //! assert_eq!(judgement.verdict(), FindingVerdict::Violated);
    //! # Ok::<(), lockproof::history::ReadError>(())
    //! ```

    pub use lockproof_history::{
        Event, ExportError, Finding, FindingVerdict, Header, JudgeOptions, Judgement, Kind,
        ORACLES, Problem, Process, ReadError, Reader, Violation, Writer, export_edn, judge,
    };
}
