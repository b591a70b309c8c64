//! `lockproof threads`: races between the threads of one client.

use anyhow::{Context, anyhow};
use comfy_table::{ContentArrangement, Table, presets};
use lockproof_input::nearest;
use lockproof_threads::{
    self as threads, Answer, Claim, HANDLES, HandleInfo, Limits, Scene, Story, Variant, Verdict,
};
use serde::Serialize;

use super::check::{Format, seconds_of};
use super::screen::{self, Screen};
use super::{Ended, Exit, Failure, signals, supervisor};

/// The name of what `--format json` prints.
const SCHEMA: &str = "lockproof.threads/1";

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Without HANDLE and --all the handles are listed. The story of the first violation is told; --stories tells each.\n\nExamples:\n  lockproof threads redisson-watchdog\n  lockproof threads threadlocal-reentrant --variant repaired\n  lockproof threads redisson-watchdog --without own-unlock --scene handover"
)]
pub struct Args {
    /// The handle to explore
    #[arg(conflicts_with = "all")]
    handle: Option<String>,
    /// Explore every handle
    #[arg(long)]
    all: bool,
    /// This variant only (repeatable)
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    /// This scene only (repeatable)
    #[arg(long, value_delimiter = ',')]
    scene: Vec<String>,
    /// This claim only (repeatable)
    #[arg(long, value_delimiter = ',')]
    claim: Vec<String>,
    /// Leave this guard out of the repaired variant, and explore that one only
    #[arg(
        long,
        value_name = "GUARD",
        requires = "handle",
        conflicts_with = "variant"
    )]
    without: Option<String>,
    /// Give an exploration up beyond this many interleavings: its claims are unknown
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: u64,
    /// Give up after this many seconds: what is not answered by then is unknown [default: 3600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    timeout: Option<f64>,
    /// Tell the story of every violation
    #[arg(long)]
    stories: bool,
    /// Text for people, or one JSON object and nothing else
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What is found, as `--format json` prints it.
#[derive(Serialize)]
struct Answers {
    schema: &'static str,
    handles: Vec<HandleAnswers>,
}

#[derive(Serialize)]
struct HandleAnswers {
    handle: &'static str,
    about: &'static str,
    variants: Vec<Named>,
    guards: Vec<Named>,
    /// The guard that is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    without: Option<&'static str>,
    scenes: Vec<SceneAnswers>,
}

/// Something with a name, and what it is.
#[derive(Serialize)]
struct Named {
    id: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct SceneAnswers {
    scene: &'static str,
    about: &'static str,
    claims: Vec<ClaimAnswers>,
}

#[derive(Serialize)]
struct ClaimAnswers {
    claim: &'static str,
    meaning: &'static str,
    /// Empty in a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<VariantAnswer>,
}

#[derive(Serialize)]
struct VariantAnswer {
    variant: &'static str,
    verdict: &'static str,
    /// Interleavings of the exploration that gave the answer.
    executions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    preemptions: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<String>,
}

/// A handle, and what is asked of it.
struct Asked {
    handle: &'static HandleInfo,
    variants: Vec<&'static Variant>,
    scenes: Vec<&'static Scene>,
    claims: Vec<Claim>,
    without: Option<&'static str>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> Ended {
    signals::in_order();
    let timeout = match args.timeout {
        Some(seconds) => seconds_of(seconds)?,
        None => supervisor::TIME,
    };
    let asked = plan(&args)?;
    supervisor::confine(None)
        .context("failed to lock this process in")
        .map_err(Failure::internal)?;
    if args.handle.is_none() && !args.all {
        return list(&asked, args.format);
    }
    let _watched = supervisor::watch(timeout, "the threads");
    let limits = Limits {
        executions: args.max_executions,
        should_stop: screen::should_stop(),
        ..Limits::default()
    };
    let screen = Screen::new(args.format == Format::Json);
    let handles: Vec<HandleAnswers> = asked
        .iter()
        .map(|asked| asked.answers(&limits, &screen))
        .collect();
    screen.clear();
    let exit = exit_of(&handles);
    match args.format {
        Format::Json => print_json(handles)?,
        Format::Text => print_text(&handles, args.stories)?,
    }
    Ok(exit)
}

/// What is asked, or what is wrong with the question.
fn plan(args: &Args) -> Result<Vec<Asked>, Failure> {
    let handles: Vec<&HandleInfo> = match &args.handle {
        Some(name) => vec![one_of("handle", name, HANDLES.iter(), |one| one.id)?],
        None => HANDLES.iter().collect(),
    };
    let claims: Vec<Claim> = some_of("claim", &args.claim, &Claim::ALL, |one| one.info().id)?
        .into_iter()
        .copied()
        .collect();
    // A name must be one of some handle that is asked.
    let variants = handles.iter().flat_map(|handle| handle.variants);
    let variants: Vec<&Variant> = variants.collect();
    let variants = some_of("variant", &args.variant, &variants, |one| one.id)?;
    let scenes: Vec<&Scene> = handles.iter().flat_map(|handle| handle.scenes).collect();
    let scenes = some_of("scene", &args.scene, &scenes, |one| one.id)?;
    let plan = |handle: &&'static HandleInfo| {
        let last = handle.variants.last().map(|variant| variant.id);
        let without = match &args.without {
            Some(name) => Some(one_of("guard", name, handle.guards.iter(), |one| one.id)?.id),
            None => None,
        };
        let is_asked = |variant: &&Variant| {
            let named = variants.iter().any(|one| one.id == variant.id);
            named && (without.is_none() || last == Some(variant.id))
        };
        Ok(Asked {
            handle,
            variants: handle.variants.iter().filter(is_asked).collect(),
            scenes: (handle.scenes.iter())
                .filter(|scene| scenes.iter().any(|one| one.id == scene.id))
                .collect(),
            claims: claims.clone(),
            without,
        })
    };
    handles.iter().map(plan).collect()
}

/// The one of this name.
fn one_of<'a, T>(
    what: &str,
    name: &str,
    all: impl Iterator<Item = &'a T> + Clone,
    id: impl Fn(&T) -> &'static str,
) -> Result<&'a T, Failure> {
    all.clone().find(|one| id(one) == name).ok_or_else(|| {
        let mut known: Vec<&str> = Vec::new();
        for one in all.map(&id) {
            if !known.contains(&one) {
                known.push(one);
            }
        }
        let hint = nearest::hint(name, &known);
        Failure::usage(anyhow!("there is no {what} `{name}`; {hint}"))
    })
}

/// Those of these names; all if none is named.
fn some_of<'a, T>(
    what: &str,
    names: &[String],
    all: &'a [T],
    id: impl Fn(&T) -> &'static str,
) -> Result<Vec<&'a T>, Failure> {
    for name in names {
        one_of(what, name, all.iter(), &id)?;
    }
    let named = |one: &&T| names.is_empty() || names.iter().any(|name| name == id(one));
    Ok(all.iter().filter(named).collect())
}

impl Asked {
    fn answers(&self, limits: &Limits, screen: &Screen) -> HandleAnswers {
        let mut answers = self.listed();
        for (scene, listed) in self.scenes.iter().zip(&mut answers.scenes) {
            for variant in &self.variants {
                if !scene.is_for(variant.id) {
                    continue;
                }
                supervisor::begin_part();
                let (handle, name) = (self.handle, self.name(variant));
                screen.show(&format!("exploring: {name}, {}", scene.id));
                let found = threads::explore(handle, variant, self.without, scene, limits);
                for answer in found {
                    let id = answer.claim.info().id;
                    let claim = listed.claims.iter_mut().find(|claim| claim.claim == id);
                    if let Some(claim) = claim {
                        let answer = VariantAnswer::new(&answer, variant, scene, &name);
                        claim.verdicts.push(answer);
                    }
                }
            }
        }
        for scene in &mut answers.scenes {
            scene.claims.retain(|claim| !claim.verdicts.is_empty());
        }
        answers.scenes.retain(|scene| !scene.claims.is_empty());
        answers
    }

    /// The handle and its variant, as a title names them.
    fn name(&self, variant: &Variant) -> String {
        let name = format!("{} {}", self.handle.id, variant.id);
        match self.without {
            Some(guard) => format!("{name} without {guard}"),
            None => name,
        }
    }

    /// Everything that can be asked, without an answer.
    fn listed(&self) -> HandleAnswers {
        let claims = |scene: &&Scene| {
            let asked = scene.claims.iter().filter(|one| self.claims.contains(one));
            let claim = |claim: &Claim| ClaimAnswers {
                claim: claim.info().id,
                meaning: claim.info().meaning,
                verdicts: Vec::new(),
            };
            SceneAnswers {
                scene: scene.id,
                about: scene.about,
                claims: asked.map(claim).collect(),
            }
        };
        let guards = self.handle.guards.iter();
        HandleAnswers {
            handle: self.handle.id,
            about: self.handle.about,
            variants: (self.variants.iter())
                .map(|variant| Named {
                    id: variant.id,
                    about: variant.about,
                })
                .collect(),
            guards: guards
                .map(|guard| Named {
                    id: guard.id,
                    about: guard.meaning,
                })
                .collect(),
            without: self.without,
            scenes: self.scenes.iter().map(claims).collect(),
        }
    }
}

impl VariantAnswer {
    fn new(answer: &Answer, variant: &Variant, scene: &Scene, name: &str) -> VariantAnswer {
        let (verdict, found, reason) = match &answer.verdict {
            Verdict::Holds => ("holds", None, None),
            Verdict::Violated(found) => ("violated", Some(found), None),
            Verdict::Unknown(reason) => ("unknown", None, Some(reason.clone())),
        };
        let about = Story {
            handle: name,
            scene: scene.id,
            about: scene.about,
            claim: answer.claim,
        };
        VariantAnswer {
            variant: variant.id,
            verdict,
            executions: answer.executions,
            preemptions: found.and_then(|found| found.preemptions),
            reason,
            story: found.map(|found| threads::story(found, &about)),
        }
    }

    fn words(&self) -> String {
        match (self.verdict, self.preemptions) {
            ("holds", _) => format!("✓ holds\n{}", interleavings(self.executions)),
            ("violated", Some(count)) => format!("✗ violated\n{}", preemptions(count)),
            ("violated", None) => "✗ violated\nmore preemptions".to_owned(),
            _ => format!("? unknown\n{}", self.reason.as_deref().unwrap_or_default()),
        }
    }
}

fn interleavings(count: u64) -> String {
    match count {
        1 => "1 interleaving".to_owned(),
        count => format!("{count} interleavings"),
    }
}

fn preemptions(count: usize) -> String {
    match count {
        0 => "no preemption".to_owned(),
        1 => "1 preemption".to_owned(),
        count => format!("{count} preemptions"),
    }
}

/// Every answer of some handles.
fn verdicts(handles: &[HandleAnswers]) -> impl Iterator<Item = &VariantAnswer> {
    let scenes = handles.iter().flat_map(|handle| &handle.scenes);
    let claims = scenes.flat_map(|scene| &scene.claims);
    claims.flat_map(|claim| &claim.verdicts)
}

/// Worst wins: a violation, then the unknown.
fn exit_of(handles: &[HandleAnswers]) -> Exit {
    let all: Vec<&str> = verdicts(handles).map(|one| one.verdict).collect();
    match all.as_slice() {
        [] => Exit::Nothing,
        all if all.contains(&"violated") => Exit::Violation,
        all if all.contains(&"unknown") => Exit::Unknown,
        _ => Exit::Fine,
    }
}

fn print_json(handles: Vec<HandleAnswers>) -> Result<(), Failure> {
    let schema = SCHEMA;
    let answers = Answers { schema, handles };
    screen::print(serde_json::to_string(&answers).map_err(Failure::internal)?)
}

fn print_text(handles: &[HandleAnswers], every_story: bool) -> Result<(), Failure> {
    for handle in handles.iter().filter(|handle| !handle.scenes.is_empty()) {
        let without = handle.without.map(|guard| format!(" without {guard}"));
        let without = without.unwrap_or_default();
        screen::print(format_args!(
            "{}{without}\n{}\n",
            handle.handle,
            table(handle)
        ))?;
    }
    let stories: Vec<&str> = verdicts(handles)
        .filter_map(|one| one.story.as_deref())
        .collect();
    let told = if every_story { stories.len() } else { 1 };
    for story in stories.iter().take(told) {
        screen::print(story)?;
    }
    match stories.len().saturating_sub(told) {
        0 => Ok(()),
        1 => screen::print("One more violation; --stories tells it."),
        left => screen::print(format_args!(
            "{left} more violations; --stories tells them."
        )),
    }
}

/// A row a claim, a column a variant.
fn table(handle: &HandleAnswers) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(screen::width() as u16);
    let mut header = vec!["scene", "claim"];
    header.extend(handle.variants.iter().map(|variant| variant.id));
    table.set_header(header);
    for scene in &handle.scenes {
        for (at, claim) in scene.claims.iter().enumerate() {
            let name = if at == 0 { scene.scene } else { "" };
            let mut row = vec![name.to_owned(), claim.claim.to_owned()];
            for variant in &handle.variants {
                let mut of = claim.verdicts.iter();
                let of = of.find(|one| one.variant == variant.id);
                row.push(of.map_or("not asked".to_owned(), VariantAnswer::words));
            }
            table.add_row(row);
        }
    }
    table
}

/// The handles, and what can be asked of them.
fn list(asked: &[Asked], format: Format) -> Ended {
    let handles: Vec<HandleAnswers> = asked.iter().map(Asked::listed).collect();
    if format == Format::Json {
        print_json(handles)?;
        return Ok(Exit::Fine);
    }
    let mut table = screen::list();
    for handle in &handles {
        table.add_row([handle.handle, handle.about]);
        for variant in &handle.variants {
            table.add_row([&format!("  {}", variant.id), variant.about]);
        }
        for guard in &handle.guards {
            table.add_row([&format!("  --without {}", guard.id), guard.about]);
        }
    }
    screen::print(table.trim_fmt())?;
    screen::print("\nExplore one with `lockproof threads HANDLE`, or each with `--all`.")?;
    Ok(Exit::Fine)
}
