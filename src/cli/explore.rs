//! `lockproof explore`: a lock's model on stateright's Explorer page.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use lockproof_model::check::stateright::{Edge, Guide, can_listen, serve_explorer};
use lockproof_model::check::{CheckError, Checker, ExploreOptions, Path};
use lockproof_model::world::layout::State;
use lockproof_model::world::{Action, World, catalogue::Switch};
use lockproof_report::diagram;
use lockproof_trace::{ClientView, Trace, line, words};

use super::check::failure;
use super::plan::{LockArgs, LockPlan};
use super::{Ended, Failure, screen, supervisor};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Explores one assumption set: that of --assume or --all, or no faults at all. The page knows the properties that one state or step can violate; deadlock-freedom and the like are answered by `lockproof check`."
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Where the page is served, on loopback; port 0 takes one that is free
    #[arg(long, default_value = "127.0.0.1:3000", value_parser = address)]
    address: SocketAddr,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| {
        "it takes an address of this machine and a port, such as 127.0.0.1:3000".into()
    })
}

/// Runs the subcommand; it serves until it is interrupted.
pub fn run(args: Args) -> Ended {
    let address = can_listen(args.address).map_err(|error| Failure::usage(anyhow!(error)))?;
    let plan = args.lock.plan(&screen::should_stop())?;
    let bound = supervisor::watch(
        supervisor::TIME,
        &format!("the model of {}", plan.file.name),
    );
    let set = plan.sets[0].clone();
    let options = plan.options(Vec::new(), ExploreOptions::default());
    let mut checker = Checker::new(&plan.file, options).map_err(failure)?;
    let world = Arc::new(checker.world(&set).map_err(failure)?);
    drop(bound);
    screen::note(format_args!("the Explorer page: http://{address}"));
    let guide = Teller {
        world: Arc::clone(&world),
        plan,
        set,
        paths: Mutex::default(),
    };
    match serve_explorer(world, address, Box::new(guide)) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::usage(anyhow!(error))),
    }
}

type Steps = Vec<(Action, State)>;

/// Tells the page's steps in the words of stories.
struct Teller {
    world: Arc<World>,
    plan: LockPlan,
    set: Vec<Switch>,
    /// A way to each state that was shown. A step can only be told at the end of one: what a
    /// client sends depends on what it did before.
    paths: Mutex<HashMap<State, Steps>>,
}

impl Teller {
    /// A live program does these steps. It is not shared between threads; each call starts its own.
    fn trace(&self, steps: &[(Action, State)]) -> Result<Trace, CheckError> {
        let options = self.plan.options(Vec::new(), ExploreOptions::default());
        let checker = Checker::new(&self.plan.file, options)?;
        checker.concretise(&self.world, &self.set, steps, None, None)
    }

    /// The trace to the end of a step, and how many of its steps are of those before.
    fn after(&self, step: &Edge<State>) -> Option<(Trace, usize)> {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        let mut steps = paths.get(&step.from)?.clone();
        drop(paths);
        let before = self.trace(&steps).ok()?.steps.len();
        steps.push((step.transition.action, step.transition.state));
        Some((self.trace(&steps).ok()?, before))
    }
}

impl Guide<State> for Teller {
    fn draw(&self, path: &Path<State>) -> String {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.insert(*path.last(), path.steps.clone());
        // Somebody may begin in the midst of a path: by a link.
        if let Some((_, before)) = path.steps.split_last() {
            let from = before.last().map_or(path.initial, |(_, state)| *state);
            paths.insert(from, before.to_vec());
        }
        drop(paths);
        match self.trace(&path.steps) {
            Ok(trace) => diagram::svg(&trace),
            Err(error) => diagram::note(&error.to_string()),
        }
    }

    fn action(&self, step: &Edge<State>) -> Option<String> {
        let (trace, before) = self.after(step)?;
        let new = trace.steps.get(before..)?;
        let lines: Vec<String> = new.iter().map(|step| line(&trace, step)).collect();
        Some(lines.join("; "))
    }

    fn outcome(&self, step: &Edge<State>) -> Option<String> {
        let (trace, _) = self.after(step)?;
        let clients = trace.steps.last()?.clients.iter().enumerate();
        let lines: Vec<String> = clients
            .map(|(client, view)| format!("{} {}", words::client(client as u8), believes(view)))
            .collect();
        Some(lines.join("\n"))
    }
}

/// `is idle`, `is held and believes that it holds the lock, validly for 2000 ms more`.
fn believes(view: &ClientView) -> String {
    let belief = match (view.believes, view.validity_left_ms) {
        (false, _) => String::new(),
        (true, None) => " and believes that it holds the lock".to_owned(),
        (true, Some(ms)) if ms > 0 => {
            format!(" and believes that it holds the lock, validly for {ms} ms more")
        }
        (true, Some(_)) => " and believes that it holds the lock, past its validity".to_owned(),
    };
    format!("is {}{belief}", words::printable(&view.phase))
}
