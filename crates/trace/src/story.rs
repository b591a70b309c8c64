//! The story of a trace: plain text in time order, made to be read.
//!
//! One numbered line a step. Who acts stands left, what happens in the middle, the
//! line of the user's own file right, where the eye can run down it like a program.
//! Ticks are rules across the page with numbers of their own, faults carry a
//! lightning mark, and what a client believes is told only when it changes: that is
//! when it matters.
//!
//! The length of a trace is the number of the step that violates: the table of a
//! check, the story and the steps of the file count the same. (The search counts
//! moves, of which one may take several steps: a call and the command that it sends.)
//!
//! A table with a column per client was tried first. It wastes most of its
//! cells, needs 150 columns for three clients, and hides the one thing that the
//! reader looks for: the order in which things happened.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{ClientView, Event, Mark, Setup, Step, Trace, words};

/// How to tell the story.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// Width of the page in columns; at least 40 are used.
    pub width: usize,
    /// Whether to colour with ANSI escape sequences.
    pub colour: bool,
    /// Whether to show the lock file's lines beside the steps.
    pub source: bool,
    /// What the violated property means, in one sentence.
    pub meaning: Option<&'a str>,
    /// The command line that replays the trace.
    pub replay: Option<&'a str>,
    /// How a replay on real servers went: it stands where the lock file's lines stand
    /// otherwise.
    pub real: Option<Real<'a>>,
}

/// How a replay on real servers went, in words.
#[derive(Clone, Copy, Debug)]
pub struct Real<'a> {
    /// A text a step, for the steps that were enforced and agreed. The story ends with them.
    pub agreed: &'a [String],
    /// What the real side did in the next step, if the replay ended there.
    pub ended: Option<&'a str>,
}

impl Default for Story<'_> {
    fn default() -> Self {
        Story {
            width: 100,
            colour: false,
            source: true,
            meaning: None,
            replay: None,
            real: None,
        }
    }
}

impl Real<'_> {
    /// The width of its longest text, up to 48.
    fn width(&self) -> usize {
        let texts = self.agreed.iter().map(String::as_str).chain(self.ended);
        texts.map(UnicodeWidthStr::width).max().unwrap_or(0).min(48)
    }
}

/// Below this width the source goes to a line of its own.
const WIDTH_WITH_SOURCE: usize = 84;
/// Columns before what happens: step number, mark, who.
const INDENT: usize = 17;

/// Tells the trace as a story.
pub fn story(trace: &Trace, options: &Story) -> String {
    let teller = Teller::new(trace, options);
    let mut out = teller.title();
    let mut previous: Vec<ClientView> = Vec::new();
    let mut i = 0;
    let [begins, again] = rounds(trace);
    let told = teller.told();
    while i < told {
        if i == begins {
            out += &teller.round("from here on it repeats, for ever");
        }
        if i == again && teller.agrees_to_the_end() {
            out += &teller.round(&format!(
                "and so on: steps {} to {} are the same again",
                i + 1,
                trace.steps.len()
            ));
            break;
        }
        let end = [begins, again, told];
        let end = end.into_iter().filter(|end| *end > i).min();
        let quiet = quiet_ticks(&trace.steps[i..end.unwrap_or(i)], &previous);
        if quiet > 1 {
            out += &teller.ticks(i, quiet);
            i += quiet;
            previous.clone_from(&trace.steps[i - 1].clients);
            continue;
        }
        let step = &trace.steps[i];
        out += &match step.event {
            Event::Tick => teller.ticks(i, 1),
            _ => teller.step(i, step),
        };
        if teller.agrees(i) {
            out += &teller.beliefs(&previous, &step.clients);
            out += &teller.violations(step);
        }
        previous.clone_from(&step.clients);
        i += 1;
    }
    match teller.agrees_to_the_end() {
        true => out + &teller.end(),
        false => out,
    }
}

/// Before which steps the first two rounds of an endless run begin; beyond all steps if it is
/// none.
fn rounds(trace: &Trace) -> [usize; 2] {
    let rounds = trace.repeats.iter().flat_map(|repeats| &repeats.rounds);
    let mut starts = rounds.map(|step| (*step as usize).saturating_sub(1));
    [(); 2].map(|()| starts.next().unwrap_or(usize::MAX))
}

/// Number of leading ticks that change nothing worth a line.
fn quiet_ticks(steps: &[Step], before: &[ClientView]) -> usize {
    steps
        .iter()
        .take_while(|step| {
            step.event == Event::Tick
                && step.violates.is_empty()
                && changes(before, &step.clients).is_empty()
        })
        .count()
}

/// What each client newly believes, as `(client, sentence)`.
pub(crate) fn changes(before: &[ClientView], after: &[ClientView]) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    for (i, now) in after.iter().enumerate() {
        let was = before.get(i);
        let (believed, valid) = was.map_or((false, false), |w| (w.believes, w.valid));
        let holds = was.map_or(0, |w| w.holds);
        let name = words::client(i as u8);
        let left = now
            .validity_left_ms
            .map_or(String::new(), |ms| format!(" for {ms} ms more"));
        let text = match (believed, now.believes) {
            (false, true) if now.valid => {
                format!("{name} believes that it holds the lock{left}")
            }
            (false, true) => format!("{name} believes that it holds the lock, past its validity"),
            (true, false) => format!("{name} no longer believes that it holds the lock"),
            (true, true) if valid && !now.valid => {
                format!("{name}'s validity is over, it still believes that it holds the lock")
            }
            (true, true) if !valid && now.valid => format!("{name}'s lock is valid again{left}"),
            (true, true) if holds != now.holds => {
                format!(
                    "{name} holds the lock {}",
                    words::plural(u32::from(now.holds), "time")
                )
            }
            _ => continue,
        };
        found.push((i as u8, text));
    }
    found
}

struct Teller<'a> {
    trace: &'a Trace,
    options: &'a Story<'a>,
    width: usize,
    /// Width of the middle column.
    what: usize,
}

/// What stands right of a step.
struct Right {
    mark: String,
    /// The mark's.
    style: Style,
    text: String,
}

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const FAULT: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const CLIENTS: [AnsiColor; 4] = [
    AnsiColor::Blue,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
    AnsiColor::Green,
];

impl<'a> Teller<'a> {
    fn new(trace: &'a Trace, options: &'a Story) -> Self {
        let width = options.width.max(40);
        let longest = trace
            .steps
            .iter()
            .filter(|step| options.real.is_some() || step.source.is_some())
            .map(|step| words::event(trace, &step.event).width())
            .max()
            .unwrap_or(0);
        // The source gets what the middle leaves, but at least two fifths; what really
        // happened is short, and gets no more than it takes.
        let most = match &options.real {
            Some(real) => (width - INDENT).saturating_sub(real.width() + 3),
            None => (width - INDENT) * 3 / 5 - 9,
        };
        let what = match width < WIDTH_WITH_SOURCE {
            true => width - INDENT,
            false => longest.clamp(24, most.max(24)),
        };
        Teller {
            trace,
            options,
            width,
            what,
        }
    }

    /// How many steps are told.
    fn told(&self) -> usize {
        let all = self.trace.steps.len();
        self.options.real.map_or(all, |real| {
            let ended = usize::from(real.ended.is_some());
            all.min(real.agreed.len() + ended)
        })
    }

    /// Whether the real side agreed with a step, as far as it was asked.
    fn agrees(&self, index: usize) -> bool {
        let real = self.options.real.as_ref();
        real.is_none_or(|real| index < real.agreed.len())
    }

    fn agrees_to_the_end(&self) -> bool {
        (0..self.trace.steps.len()).all(|step| self.agrees(step))
    }

    fn paint(&self, style: Style, text: &str) -> String {
        match self.options.colour && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_string(),
        }
    }

    /// A line across the page.
    fn round(&self, text: &str) -> String {
        let text = cut(&format!("     ══ {text} "), self.width);
        let rest = self.width.saturating_sub(text.width());
        format!(
            "{}\n",
            self.paint(FAULT, &format!("{text}{}", "═".repeat(rest)))
        )
    }

    fn client_style(&self, client: u8) -> Style {
        CLIENTS[usize::from(client) % CLIENTS.len()]
            .on_default()
            .bold()
    }

    fn title(&self) -> String {
        let trace = self.trace;
        let name = words::printable(&trace.lock.name);
        let headline = match (&trace.property, trace.seed) {
            (Some(property), _) => format!("{name} violates {}", words::printable(property)),
            (None, Some(seed)) => format!("a random walk of {name}, seed {seed}"),
            (None, None) => format!("a run of {name}"),
        };
        let s = &trace.setup;
        let last = words::client(s.clients.saturating_sub(1));
        let clients = match s.clients {
            1 => "client A".into(),
            2 => "clients A, B".into(),
            _ => format!("clients A to {last}"),
        };
        let clients = match s.objects {
            Some(objects) => format!("{clients} ({})", objects.words(s)),
            None => clients,
        };
        let clients = match (s.callers, s.shared_handle) {
            (2, true) => format!("{clients} (A and B: two callers of one process, one handle)"),
            (2, false) => format!("{clients} (A and B: two callers of one process)"),
            _ => clients,
        };
        let nodes = match s.nodes {
            1 => "node N1".into(),
            n => format!("nodes N1 to N{n}"),
        };
        let times = format!("lease {} ms, tick {} ms", s.ttl_ms, s.tick_ms);
        let mut out = String::new();
        for line in wrap(&headline, self.width) {
            let _ = writeln!(out, "{}", self.paint(BOLD, &line));
        }
        let faults = words::assumptions(&trace.assumptions);
        let faults = match trace.assumptions.is_empty() {
            true => faults,
            false => format!("allowed faults: {faults}"),
        };
        for line in wrap(
            &format!("{clients} · {nodes} · {times} · {faults}"),
            self.width,
        ) {
            let _ = writeln!(out, "{}", self.paint(DIM, &line));
        }
        if self.options.real.is_some() && self.width >= WIDTH_WITH_SOURCE {
            let space = " ".repeat(INDENT);
            let text = format!("{space}{}really", pad("predicted", self.what + 1));
            let _ = writeln!(out, "{}", self.paint(DIM, &text));
        }
        if trace.steps.first().is_some_and(|s| s.event != Event::Tick) {
            out += &self.rule(&" ".repeat(5), 0, "");
        }
        out
    }

    fn rule(&self, number: &str, tick: u32, note: &str) -> String {
        let ms = i64::from(tick) * self.trace.setup.tick_ms;
        let text = format!("{number}── tick {tick} · {ms} ms {note}");
        let text = cut(&text, self.width);
        let fill = self.width.saturating_sub(text.width());
        self.paint(DIM, &format!("{text}{}", "─".repeat(fill))) + "\n"
    }

    fn ticks(&self, first: usize, count: usize) -> String {
        // Ticks may be dated before or after themselves, so they are counted.
        let until = first + count;
        let ticks = self.trace.steps[..until]
            .iter()
            .filter(|s| s.event == Event::Tick)
            .count();
        let note = match count {
            1 => String::new(),
            n => format!("({n} ticks pass: steps {} to {until}) ", first + 1),
        };
        self.rule(&number(until), ticks as u32, &note)
    }

    fn step(&self, index: usize, step: &Step) -> String {
        let number = number(index + 1);
        let (who, actor) = who(&step.event);
        let fault =
            matches!(&step.event, Event::Fault { fault } if fault.told("").mark != Mark::Square);
        let mark = if fault { "ϟ " } else { "  " };
        let what = words::event(self.trace, &step.event);
        let style = match (fault, actor, &step.event) {
            (true, ..) => FAULT,
            (_, Some(client), _) => self.client_style(client),
            _ => Style::new(),
        };
        let emphasis = match &step.event {
            Event::Fault { .. } => style,
            Event::Outcome { .. } | Event::Assertion { .. } | Event::Call { .. } => BOLD,
            _ => Style::new(),
        };
        let head = format!(
            "{}{}{}",
            self.paint(DIM, &number),
            self.paint(FAULT, mark),
            self.paint(style, &pad(&who, INDENT - 7))
        );
        match self.right(index, step) {
            Some(right) => self.with_right(&head, &what, emphasis, &right),
            None => {
                let room = self.width - INDENT;
                let lines = match what.width() <= room {
                    true => vec![what],
                    false => wrap(&what, room),
                };
                let lines: Vec<String> = lines
                    .iter()
                    .map(|line| self.paint(emphasis, &cut(line, room)))
                    .collect();
                format!(
                    "{head}{}\n",
                    lines.join(&format!("\n{}", " ".repeat(INDENT)))
                )
            }
        }
    }

    /// What stands right of a step: how it really went, or the line of the lock file.
    fn right(&self, index: usize, step: &Step) -> Option<Right> {
        let Some(real) = &self.options.real else {
            let source = step.source.as_ref().filter(|_| self.options.source)?;
            let mark = format!("{:>4} │ ", source.line);
            let text = words::printable(&source.text);
            let style = DIM;
            return Some(Right { mark, style, text });
        };
        let (mark, style, text) = match (real.agreed.get(index), real.ended) {
            (Some(text), _) => ("✓", GOOD, text.as_str()),
            (None, ended) => ("✗", BAD, ended?),
        };
        let space = if text.is_empty() { "" } else { " " };
        let (mark, text) = (format!("{mark}{space}"), text.to_owned());
        Some(Right { mark, style, text })
    }

    fn with_right(&self, head: &str, what: &str, style: Style, right: &Right) -> String {
        let narrow = self.width < WIDTH_WITH_SOURCE;
        let left = if narrow {
            INDENT
        } else {
            INDENT + self.what + 1
        };
        let room = self.width.saturating_sub(left + right.mark.width());
        let text = cut(&right.text, room);
        let text = format!("{}{text}", self.paint(right.style, &right.mark));
        let mut lines = match self.options.real {
            Some(_) => wrap(what, self.what),
            None => vec![what.to_owned()],
        };
        let rest = lines.split_off(1);
        let what = cut(&lines[0], self.what);
        let space = " ".repeat(self.what + 1 - what.width());
        let what = self.paint(style, &what);
        let margin = " ".repeat(INDENT);
        let mut out = match narrow {
            true => format!("{head}{what}\n"),
            false => format!("{head}{what}{space}{text}\n"),
        };
        for line in rest {
            let line = self.paint(style, &cut(&line, self.what));
            let _ = writeln!(out, "{margin}{line}");
        }
        if narrow {
            let _ = writeln!(out, "{margin}{text}");
        }
        out
    }

    fn beliefs(&self, before: &[ClientView], after: &[ClientView]) -> String {
        let mut out = String::new();
        for (client, text) in changes(before, after) {
            let view = &after[usize::from(client)];
            let mark = match (view.believes, view.valid) {
                (true, true) => "●",
                (true, false) => "◐",
                _ => "○",
            };
            let style = self.client_style(client);
            for (i, line) in wrap(&text, self.width - INDENT - 2).iter().enumerate() {
                let mark = if i == 0 { mark } else { " " };
                let text = self.paint(style, &format!("{mark} {line}"));
                let _ = writeln!(out, "{}{text}", " ".repeat(INDENT));
            }
        }
        out
    }

    fn violations(&self, step: &Step) -> String {
        let mut out = String::new();
        for property in &step.violates {
            let asked = self.trace.property.as_ref() == Some(property);
            let style = if asked { BAD } else { DIM };
            let text = format!("✗ violates {}", words::printable(property));
            let text = cut(&text, self.width - INDENT);
            let _ = writeln!(out, "{}{}", " ".repeat(INDENT), self.paint(style, &text));
        }
        out
    }

    fn end(&self) -> String {
        let mut out = format!("{}\n", self.paint(DIM, &"─".repeat(self.width)));
        let mut say = |style: Style, text: String| {
            for line in wrap(&text, self.width) {
                let _ = writeln!(out, "{}", self.paint(style, &line));
            }
        };
        if let Some((step, property)) = violation(self.trace) {
            say(
                BAD,
                format!("✗ step {step} violates {}", words::printable(property)),
            );
            if let Some(meaning) = self.options.meaning {
                say(Style::new(), format!("  {meaning}"));
            }
            if let Some(repeats) = &self.trace.repeats {
                say(
                    Style::new(),
                    format!(
                        "  For ever {} tries again and again and never acquires.",
                        words::client(repeats.client)
                    ),
                );
            } else if let Some(who) = believers(&self.trace.setup, &self.trace.steps[step - 1]) {
                say(Style::new(), format!("  {who}"));
            }
        } else {
            say(Style::new(), "nothing is violated".into());
        }
        // Not wrapped: a command line is copied whole.
        if let Some(replay) = self.options.replay {
            let _ = writeln!(out, "replay it: {}", self.paint(BOLD, replay));
        }
        out
    }
}

/// A step's number as its line begins.
fn number(step: usize) -> String {
    format!("{step:>4} ")
}

/// The first step, from 1, that violates what the trace is about.
pub(crate) fn violation(trace: &Trace) -> Option<(usize, &str)> {
    let property = trace.property.as_deref()?;
    let violates = |step: &Step| step.violates.iter().any(|v| v == property);
    let step = trace.steps.iter().position(violates)?;
    Some((step + 1, property))
}

fn believers(setup: &Setup, step: &Step) -> Option<String> {
    let names: Vec<String> = step
        .clients
        .iter()
        .enumerate()
        .filter(|(_, view)| view.believes)
        .map(|(i, _)| {
            let name = words::client(i as u8);
            match setup.objects {
                Some(_) => format!("{name} ({})", words::printable(&setup.key_of(i as u8))),
                None => name,
            }
        })
        .collect();
    match names.as_slice() {
        [] => Some("At that moment nobody believes to hold the lock.".into()),
        [one] => Some(format!(
            "At that moment only {one} believes to hold the lock."
        )),
        [rest @ .., last] => Some(format!(
            "At that moment {} and {last} all believe to hold the lock.",
            rest.join(", ")
        ))
        .map(|text| match names.len() {
            2 => text.replace(" all believe", " both believe"),
            _ => text,
        }),
    }
}

/// Who acts, with an arrow for what travels, and the client whose colour it has.
pub(crate) fn who(event: &Event) -> (String, Option<u8>) {
    let arrow = |client: &u8, arrow: &str, node: &u8| {
        format!("{} {arrow} {}", words::client(*client), words::node(*node))
    };
    match event {
        Event::Call { client, .. }
        | Event::Wake { client, .. }
        | Event::Choose { client, .. }
        | Event::Outcome { client, .. }
        | Event::Assertion { client, .. }
        | Event::Write { client, .. } => (words::client(*client), Some(*client)),
        Event::Send { client, node, .. } => (arrow(client, "→", node), Some(*client)),
        Event::Execute { node, .. }
        | Event::Block { node, .. }
        | Event::HangUp { node, .. }
        | Event::Publish { node, .. } => (format!("    {}", words::node(*node)), None),
        Event::Deliver { client, node, .. } => (arrow(client, "←", node), Some(*client)),
        Event::Fail { client, node, .. } => (arrow(client, "↚", node), Some(*client)),
        Event::Tick => (String::new(), None),
        Event::Fault { fault } => (fault.told("").who, None),
    }
}

/// One step in a line: who acts, and what happens.
pub fn line(trace: &Trace, step: &Step) -> String {
    let what = words::event(trace, &step.event);
    match &step.event {
        // Its sentence names who is struck.
        Event::Fault { .. } | Event::Tick => what,
        event => format!("{} {what}", who(event).0.trim()),
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Cuts to a width in columns, with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

/// Breaks at spaces; continuation lines keep the first line's indent.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for word in text.split_whitespace() {
        // There is always a last line: the list starts with one.
        let last = lines.len() - 1;
        let empty = lines[last].len() == indent.len();
        if !empty && lines[last].width() + 1 + word.width() > width {
            lines.push(format!("{indent}{word}"));
        } else {
            if !empty {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}
