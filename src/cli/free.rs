//! Free runs from the command line: what `torture` and `scenario run --free` share.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use lockproof_campaign::session::{Audience, SessionError};
use lockproof_lab::binaries;
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::topology::Attachment;
use lockproof_scenario::Scenario;
use lockproof_torture::free::{FreeRun, Ground, Now, Watch};

use super::real::Real;
use super::screen::{self, Screen};
use super::{Failure, signals};

/// Where there is no terminal, progress is told this often.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// What the runs run on. In the links is a real toxiproxy wherever one is installed, the
/// embedded proxy elsewhere.
pub fn ground(real: &Real, attach: Option<Attachment>) -> Result<Ground, Failure> {
    let proxy = match toxiproxy::find_program(&binaries::tool_directories()) {
        Ok(program) => ProxyKind::Toxiproxy(program),
        Err(missing) if matches!(real.gate.proxy, ProxyKind::Toxiproxy(_)) => {
            return Err(Failure::usage(missing));
        }
        Err(_) => ProxyKind::Embedded,
    };
    Ok(Ground {
        program: real.gate.client.program.clone(),
        server: real.server.clone(),
        library: real.gate.library.clone(),
        proxy,
        attach,
    })
}

/// For how long clients work: what was asked for, or the scenario's.
pub fn duration(asked: Option<f64>, scenario: &Scenario) -> Result<Duration, Failure> {
    let default = f64::from(scenario.run.duration_ms) / 1000.0;
    let seconds = asked.unwrap_or(default);
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| (0.1..=3600.0).contains(&duration.as_secs_f64()))
        .ok_or_else(|| Failure::usage(anyhow!("--duration is 0.1 to 3600 seconds, not {seconds}")))
}

/// Who is to blame for runs that were not played.
pub fn failure(error: SessionError) -> Failure {
    match error.is_refusal() {
        true => Failure::usage(error),
        false => Failure::internal(error),
    }
}

/// Whoever sits before the terminal.
pub struct Viewer;

impl Audience for Viewer {
    fn begins<'a>(&'a self, title: &'a str) -> Box<Watch<'a>> {
        let live = Live(Screen::new(false));
        let mut told = Instant::now();
        Box::new(move |now: &Now| {
            let Live(screen) = &live;
            if screen.is_live() || told.elapsed() >= PLAIN_EVERY {
                told = Instant::now();
                screen.say(&progress(title, now));
            }
            match signals::came() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }

    fn ended(&self, title: &str, run: &FreeRun, history: &Path) -> io::Result<()> {
        screen::answer(format_args!(
            "{title}: {} operations, {} acquired, {:.0} operations/s, set up in {:.2} s; {}",
            run.tally.operations,
            run.tally.acquired,
            run.tally.operations as f64 / run.seconds,
            run.setup_seconds,
            history.display()
        ))?;
        if let Some(keys) = &run.keys {
            screen::note(format_args!(
                "{title}: its keys on the attached servers were named {keys}..., and are deleted"
            ));
        }
        if run.cut_short {
            screen::note(format_args!(
                "{title}: cut short after {:.1} s",
                run.seconds
            ));
        }
        for warning in &run.warnings {
            screen::note(format_args!("warning: {warning}"));
        }
        Ok(())
    }

    fn note(&self, text: &str) {
        screen::note(text);
    }

    fn is_over(&self) -> bool {
        signals::came()
    }
}

/// A live line that is taken away when what it tells of has ended.
struct Live(Screen);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.clear();
    }
}

fn progress(title: &str, now: &Now) -> String {
    let seconds = now.elapsed.as_secs_f64();
    let rate = now.tally.operations as f64 / seconds.max(0.001);
    let faults = if now.faults.is_empty() {
        "nothing injected".to_owned()
    } else {
        now.faults.join(", ")
    };
    format!(
        "{title}: {seconds:.1} s, {rate:.0} operations/s, double holds so far: {}, {faults}",
        now.tally.double_holds
    )
}
