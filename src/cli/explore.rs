//! `lockproof explore`: a lock's model on stateright's Explorer page.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::anyhow;
use lockproof_model::check::stateright::serve_explorer;
use lockproof_model::check::{Checker, ExploreOptions, Path};
use lockproof_model::world::layout::State;
use lockproof_model::world::{World, catalogue::Switch};
use lockproof_report::diagram;

use super::check::failure;
use super::plan::{LockArgs, LockPlan};
use super::{Ended, Failure, screen, supervisor};

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Explores one assumption set: that of --assume or --all, or no faults at all."
)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Where the page is served, on loopback
    #[arg(long, default_value = "127.0.0.1:3000")]
    address: SocketAddr,
}

/// Runs the subcommand; it serves until it is interrupted.
pub fn run(args: Args) -> Ended {
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
    screen::note(format_args!("the Explorer page: http://{}", args.address));
    serve(world, plan, set, args.address)
}

fn serve(world: Arc<World>, plan: LockPlan, set: Vec<Switch>, address: SocketAddr) -> Ended {
    let drawn = Arc::clone(&world);
    // The drawing needs a live program, which is not shared between threads;
    // each picture starts its own.
    let svg = move |path: &Path<State>| {
        let options = plan.options(Vec::new(), ExploreOptions::default());
        let trace = Checker::new(&plan.file, options)
            .and_then(|checker| checker.concretise(&drawn, &set, &path.steps, None, None));
        match trace {
            Ok(trace) => diagram::svg(&trace),
            Err(error) => format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\"><text y=\"20\">{error}</text></svg>"
            ),
        }
    };
    match serve_explorer(world, address, Box::new(svg)) {
        Ok(never) => match never {},
        Err(error) => Err(Failure::usage(anyhow!(error))),
    }
}
