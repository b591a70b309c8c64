//! `lockproof history`: judge what a run recorded, or export it.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Subcommand;
use lockproof_campaign::history::{self, Beside};
use lockproof_history::{
    ExportError, Finding, FindingVerdict, JudgeOptions, Judgement, ReadError, Reader, export_edn,
    judge,
};
use lockproof_trace::words::{plural, printable, thousands};

use super::check::Format;
use super::{Ended, Exit, Failure, screen};

#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Judge a history with every oracle
    #[command(
        after_help = "Exit codes: 0 nothing was observed, 1 a violation, 2 unknown, 3 nothing to judge, 64 a bad history.\n\nExamples:\n  lockproof history check run.jsonl\n  lockproof history check run.jsonl --format json"
    )]
    Check(CheckArgs),
    /// Write a history in another format
    #[command(
        after_help = "Example:\n  lockproof history export --edn run.jsonl --out history.edn"
    )]
    Export(ExportArgs),
    /// Draw a history as a page of its own: who held when, faults, latencies, violations
    #[command(after_help = "Example:\n  lockproof history page run.jsonl --out run.html")]
    Page(PageArgs),
}

#[derive(clap::Args, Debug)]
struct CheckArgs {
    /// The history: JSON lines of lockproof.history/1
    history: PathBuf,
    /// Text for people, or one JSON object and nothing else
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Tell at most this many violations of each oracle, up to 1000
    #[arg(long, value_name = "N", default_value_t = 10)]
    examples: usize,
}

#[derive(clap::Args, Debug)]
struct ExportArgs {
    /// The history: JSON lines of lockproof.history/1
    history: PathBuf,
    /// As EDN, one map a line, which Jepsen's tools read
    #[arg(long, required = true)]
    edn: bool,
    /// Where it goes [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
struct PageArgs {
    /// The history: JSON lines of lockproof.history/1
    history: PathBuf,
    /// Where it goes [default: the history's name with .html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    match args.command {
        Command::Check(args) => check(&args),
        Command::Export(args) => export(&args),
        Command::Page(args) => page(&args),
    }
}

fn check(args: &CheckArgs) -> Ended {
    let options = JudgeOptions {
        examples: args.examples,
    };
    let judgement =
        judge(open(&args.history)?, &options).map_err(|error| at(&args.history, &error))?;
    match args.format {
        Format::Json => {
            screen::print(serde_json::to_string(&judgement).map_err(Failure::internal)?)?;
        }
        Format::Text => print_text(&judgement, &args.history)?,
    }
    Ok(match judgement.verdict() {
        FindingVerdict::Violated => Exit::Violation,
        FindingVerdict::Unknown => Exit::Unknown,
        FindingVerdict::NotObserved => Exit::Fine,
        FindingVerdict::NotApplicable => Exit::Nothing,
    })
}

fn export(args: &ExportArgs) -> Ended {
    let mut reader = open(&args.history)?;
    let failed = |error: ExportError| match error {
        ExportError::Read(error) => at(&args.history, &error),
        ExportError::Write(error) => Failure::internal(error),
    };
    match &args.out {
        Some(path) => {
            if same_file(path, &args.history) {
                let path = path.display();
                return Err(Failure::usage(anyhow!(
                    "failed to export: --out {path} is the history itself; name another file"
                )));
            }
            let file = File::create(path)
                .with_context(|| format!("failed to write {}", path.display()))
                .map_err(Failure::internal)?;
            export_edn(&mut reader, BufWriter::new(file)).map_err(failed)?;
        }
        None => {
            // EDN holds no escape sequences: nothing for anstream to take out.
            let out = BufWriter::new(std::io::stdout().lock());
            match export_edn(&mut reader, out) {
                // A reader that went away has seen enough.
                Err(ExportError::Write(error))
                    if error.kind() == std::io::ErrorKind::BrokenPipe => {}
                written => {
                    written.map_err(failed)?;
                }
            }
        }
    }
    for warning in reader.warnings() {
        warn(&args.history, &warning);
    }
    Ok(Exit::Fine)
}

fn page(args: &PageArgs) -> Ended {
    let default = || args.history.with_extension("html");
    let out = args.out.clone().unwrap_or_else(default);
    if same_file(&out, &args.history) {
        return Err(Failure::usage(anyhow!(
            "failed to draw: --out {} is the history itself; name another file",
            out.display()
        )));
    }
    let judgement = history::judge(&args.history).map_err(Failure::usage)?;
    let strikes = history::strikes(&args.history).map_err(Failure::usage)?;
    let beside = Beside {
        // A history without faults may be of a run that planned none.
        strikes: Some(strikes.as_slice()).filter(|strikes| !strikes.is_empty()),
        ..Beside::default()
    };
    let page = history::page(&args.history, &judgement, &beside).map_err(Failure::usage)?;
    std::fs::write(&out, page)
        .with_context(|| format!("failed to write {}", out.display()))
        .map_err(Failure::internal)?;
    screen::print(out.display())?;
    Ok(Exit::Fine)
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    history::open(path).map_err(Failure::usage)
}

/// The error with its file and line.
fn at(path: &Path, error: &ReadError) -> Failure {
    let (path, line, problem) = (path.display(), error.line, &error.problem);
    Failure::usage(anyhow!("{path}:{line}: {problem}"))
}

fn warn(path: &Path, warning: &str) {
    screen::note(format_args!(
        "warning: {}: {}",
        path.display(),
        printable(warning)
    ));
}

fn print_text(judgement: &Judgement, path: &Path) -> Result<(), Failure> {
    for warning in &judgement.warnings {
        warn(path, warning);
    }
    let header = &judgement.header;
    let scenario = header.scenario.as_deref().unwrap_or("no scenario");
    screen::print(format_args!(
        "{} ({}, {}): {} operations of {}, {} of unknown outcome, {:.1} s",
        printable(&header.lock),
        printable(&header.workload),
        printable(scenario),
        thousands(judgement.operations),
        plural(header.clients, "client"),
        thousands(judgement.unknown),
        judgement.duration_ns as f64 / 1e9,
    ))?;
    for finding in &judgement.findings {
        print_finding(finding, path)?;
    }
    Ok(())
}

fn print_finding(finding: &Finding, path: &Path) -> Result<(), Failure> {
    let verdict = match finding.verdict {
        FindingVerdict::Violated => {
            let (violations, checked) = (finding.violations, finding.checked);
            format!(
                "violated {} of {}",
                thousands(violations),
                thousands(checked)
            )
        }
        FindingVerdict::NotObserved => format!("not observed in {}", thousands(finding.checked)),
        other => other.name().replace('-', " "),
    };
    let reason = finding.reason.as_ref();
    let reason = reason.map_or(String::new(), |reason| format!(" ({})", printable(reason)));
    screen::print(format_args!("  {:27} {verdict}{reason}", finding.oracle))?;
    let figures: Vec<String> = finding
        .figures
        .iter()
        .map(|(name, value)| format!("{name} {}", (value * 1e3).round() / 1e3))
        .collect();
    if !figures.is_empty() {
        screen::print(format_args!("  {:27} {}", "", figures.join(", ")))?;
    }
    for example in &finding.examples {
        let line = example.lines.first().map_or(1, |line| *line);
        screen::print(format_args!(
            "    {}:{line}: {}",
            path.display(),
            printable(&example.words)
        ))?;
    }
    Ok(())
}
