//! The formal side: a lock file as a client program, the world that it runs in, and the
//! search for what it does wrong there.
//!
//! | module | what it is |
//! |---|---|
//! | [`lock`] | a lock file: load, sandbox, run as a client program |
//! | [`world`] | clients x nodes x network x time x faults (**start here**) |
//! | [`check`] | explorers, liveness sweeps, verdicts |
//!
//! ```
//! use lockproof_model::check::{CheckOptions, Checker, Verdict};
//! use lockproof_model::lock::LockFile;
//! use lockproof_model::world::catalogue::Fault;
//!
//! let file = LockFile::builtin("token")?; // or LockFile::load(path)
//! let options = CheckOptions::for_file(&file);
//! let loss = vec![Fault::Loss.switch(options.sizes.ttl_ticks)];
//! let pause = vec![Fault::ClientPause.switch(options.sizes.ttl_ticks)];
//! let report = Checker::new(&file, options)?.check(&[loss, pause], &())?;
//! let cells = report.results.iter();
//! let cells: Vec<_> = cells.filter(|cell| cell.property == "mutual-exclusion-belief").collect();
//! assert_eq!(cells[0].verdict, Verdict::Holds);
//! assert_eq!(cells[1].verdict, Verdict::Violated);
//! let trace = cells[1].trace.as_ref().unwrap(); // the shortest one, to be replayed
//! assert!(trace.steps.len() > 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
pub mod lock;
pub mod world;
