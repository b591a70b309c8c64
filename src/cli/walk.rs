//! `lockproof walk`: is the model faithful? Random walks on real servers.

use std::path::PathBuf;

use lockproof_model::check::Checker;
use lockproof_replay::{GatePool, ReplayVerdict};

use super::check::{failure, write_trace};
use super::plan::LockArgs;
use super::real::RealArgs;
use super::replay::write_history;
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, signals, supervisor};

#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    lock: LockArgs,
    /// Walks for each assumption set
    #[arg(long, default_value_t = 50)]
    walks: u32,
    /// Moves of each walk
    #[arg(long, default_value_t = 40, value_parser = moves)]
    moves: usize,
    /// Where the traces of diverging walks go
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
    #[command(flatten)]
    real: RealArgs,
}

fn moves(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a walk has 1 move or more".into()),
        Ok(moves) => Ok(moves),
    }
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let plan = args.lock.plan(&screen::should_stop())?;
    let real = args.real.find()?;
    let mut pool = GatePool::new(real.gate.clone());
    let explore = screen::bounded();
    let options = plan.options(Vec::new(), explore);
    let mut checker = Checker::new(&plan.file, options).map_err(failure)?;
    let screen = Screen::new(false);
    let mut exit = if args.walks == 0 {
        Exit::Nothing
    } else {
        Exit::Fine
    };
    for set in &plan.sets {
        let seeds = plan.seed..plan.seed + u64::from(args.walks);
        let name = screen::set_name(&lockproof_model::check::assumptions(set));
        let what = format!("walking through the model of {}: {name}", plan.file.name);
        let bound = supervisor::watch(supervisor::TIME, &what);
        let walks = checker.walks(set, seeds, args.moves).map_err(failure)?;
        drop(bound);
        let (mut agreed, mut done) = (0, 0);
        for trace in &walks {
            screen.show(&format!("walking: {name}, {done} of {}", walks.len()));
            let Some(report) = real.until_told(pool.replay(trace, &plan.file.path)) else {
                break;
            };
            done += 1;
            match &report.verdict {
                ReplayVerdict::Reproduced => agreed += 1,
                ReplayVerdict::Failed { error, .. } => {
                    // What was recorded is kept, whatever broke.
                    let path = write_trace(&args.traces, trace, false)?;
                    let history = path.with_extension("history.jsonl");
                    write_history(&report, &history)?;
                    let kept = history.display();
                    let error = anyhow::anyhow!("{error}; what happened is in {kept}");
                    return Err(Failure::internal(error));
                }
                verdict => {
                    let path = write_trace(&args.traces, trace, false)?;
                    let seed = trace.seed.unwrap_or_default();
                    let path = path.display();
                    screen::print(format_args!("{name}, seed {seed}: {verdict}\n  {path}"))?;
                    exit = Exit::Violation;
                }
            }
        }
        screen.clear();
        screen::print(format_args!(
            "{name}: {agreed} of {done} walks agree, seed {}",
            plan.seed
        ))?;
        if signals::came() {
            screen::note(format_args!(
                "{name}: {} walks were not made",
                walks.len() - done
            ));
            break;
        }
    }
    Ok(exit)
}
