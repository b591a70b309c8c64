//! What real servers say of a run: replays of its counterexamples and of its random walks, on one
//! server or on several in turn.

use std::collections::BTreeMap;

use lockproof_lab::binaries::{self, Binary, Version};
use lockproof_model::check::ShouldStop;
use lockproof_model::lock::LockFile;
use lockproof_replay::GateOptions;
use lockproof_report::model::{OnServer, Replay, Replays, Walks};
use lockproof_trace::{Event, Trace};

use super::CampaignError;
use super::crew::Crew;

/// What became of a counterexample.
#[derive(Clone)]
pub struct Replayed {
    pub count: Replays,
    /// A replay that went wrong, or any.
    pub last: Option<Replay>,
    /// On each server, if there are several.
    pub on: Vec<OnServer>,
}

/// What became of the walks of a world.
#[derive(Clone, Default)]
pub struct Walked {
    pub walks: Walks,
    pub on: Vec<OnServer>,
    /// Those that went another way.
    pub strayed: Vec<(Trace, Replay)>,
}

/// The gates, and what they have replayed.
pub struct RealSide {
    crew: Crew,
    replays: u32,
    interrupted: ShouldStop,
    /// By setup and steps.
    replayed: BTreeMap<String, Replayed>,
}

/// What one server says of some traces.
struct Said {
    server: String,
    replays: Vec<Replay>,
    note: Option<String>,
}

impl RealSide {
    pub fn new(
        runtime: tokio::runtime::Runtime,
        gate: GateOptions,
        replays: u32,
        interrupted: ShouldStop,
    ) -> RealSide {
        RealSide {
            crew: Crew::new(runtime, gate),
            replays,
            interrupted,
            replayed: BTreeMap::new(),
        }
    }

    /// From now on everything is replayed with this gate's server as well.
    pub fn also_on(&mut self, gate: GateOptions) {
        self.crew.hire(gate);
    }

    /// Every server program, with its path: results on others are other results.
    pub fn servers(&self) -> Vec<String> {
        let servers = self.crew.servers();
        servers
            .map(|one| format!("{one} {}", one.path.display()))
            .collect()
    }

    /// Replays a counterexample as often as is wanted. One run often violates several properties
    /// with the same steps; those are replayed once.
    pub fn violation(&mut self, trace: &Trace, file: &LockFile) -> Result<Replayed, CampaignError> {
        let key = serde_json::to_string(&(&trace.setup, &trace.steps)).unwrap_or_default();
        if let Some(known) = self.replayed.get(&key) {
            return Ok(known.clone());
        }
        let traces = vec![trace.clone(); self.replays as usize];
        let said = self.all(&traces, file)?;
        let good = |replay: &&Replay| **replay == Replay::Reproduced;
        let count = |replays: &[Replay]| Replays {
            reproduced: replays.iter().filter(good).count() as u32,
            attempts: replays.len() as u32,
        };
        // What is kept is a failure, if there was one: that is what a reader wants to see.
        let told = said.iter().filter(|one| one.note.is_none());
        let all: Vec<&Replay> = told.flat_map(|one| &one.replays).collect();
        let bad = all.iter().find(|replay| !good(replay));
        let replayed = Replayed {
            count: count(said.first().map_or(&[], |one| &one.replays)),
            last: bad.or(all.first()).map(|one| (*one).clone()),
            on: self.on(&said, |one| OnServer {
                server: one.server.clone(),
                replays: Some(count(&one.replays)).filter(|count| count.attempts > 0),
                walks: None,
                note: one.note.clone(),
            }),
        };
        self.replayed.insert(key, replayed.clone());
        Ok(replayed)
    }

    /// Replays random walks.
    pub fn walks(&mut self, traces: &[Trace], file: &LockFile) -> Result<Walked, CampaignError> {
        let said = self.all(traces, file)?;
        let mut strayed = Vec::new();
        for one in said.iter().filter(|one| one.note.is_none()) {
            let bad = traces.iter().zip(&one.replays);
            let bad = bad.filter(|(_, replay)| **replay != Replay::Reproduced);
            strayed.extend(bad.map(|(trace, replay)| (trace.clone(), replay.clone())));
        }
        let count = |one: &Said| {
            let steps = traces.iter().zip(&one.replays);
            let bad = one.replays.iter().filter(|one| **one != Replay::Reproduced);
            Walks {
                count: one.replays.len() as u32,
                steps: steps.map(|(trace, _)| trace.steps.len() as u64).sum(),
                diverged: bad.count() as u32,
            }
        };
        Ok(Walked {
            walks: said.first().map(count).unwrap_or_default(),
            on: self.on(&said, |one| OnServer {
                server: one.server.clone(),
                replays: None,
                walks: Some(count(one)).filter(|walks| walks.count > 0),
                note: one.note.clone(),
            }),
            strayed,
        })
    }

    /// One entry a server, if there are several.
    fn on(&self, said: &[Said], entry: impl Fn(&Said) -> OnServer) -> Vec<OnServer> {
        match self.crew.servers().len() > 1 {
            true => said.iter().map(entry).collect(),
            false => Vec::new(),
        }
    }

    /// What each server says, the one that is really used first. Replays that were interrupted are
    /// missing at the end.
    fn all(&mut self, traces: &[Trace], file: &LockFile) -> Result<Vec<Said>, CampaignError> {
        let servers: Vec<Binary> = self.crew.servers().cloned().collect();
        let mut said: Vec<Said> = Vec::new();
        for (place, server) in servers.iter().enumerate() {
            // A lock may ask for a kind of server, and gets it from any gate.
            let kind = file.server.name();
            let used = binaries::of_kind(server, kind).unwrap_or_else(|_| server.clone());
            if place > 0 && used != *server {
                said.push(Said {
                    server: server.to_string(),
                    replays: Vec::new(),
                    note: kind.map(|kind| format!("the lock asks for {kind}")),
                });
                continue;
            }
            if said.iter().any(|one| one.server == used.to_string()) {
                continue;
            }
            let replays = self
                .crew
                .replay(place, traces, &file.path, &self.interrupted)?;
            let replays: Vec<Replay> = replays.into_iter().map_while(|one| one).collect();
            let strayed = replays.iter().any(|replay| *replay != Replay::Reproduced);
            let note = (strayed && counts_otherwise(&used) && traces.iter().any(waits))
                .then(|| "WAIT counts from the last write there (docs/model.md)".to_owned());
            said.push(Said {
                server: used.to_string(),
                replays,
                note,
            });
        }
        Ok(said)
    }
}

/// The model's WAIT is that of Redis 7; later ones, and Valkey, count otherwise.
fn counts_otherwise(server: &Binary) -> bool {
    server.name != "redis" || server.version >= Version(8, 0, 0)
}

fn waits(trace: &Trace) -> bool {
    let wait = |argv: &[String]| {
        argv.first()
            .is_some_and(|name| name.eq_ignore_ascii_case("WAIT"))
    };
    let mut steps = trace.steps.iter();
    steps.any(|step| matches!(&step.event, Event::Send { argv, .. } if wait(argv)))
}
