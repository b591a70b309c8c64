//! Small changes of a lock file and of its scripts: mutants.
//!
//! A mutant is one change at one place, such as `>=` for `>`, a command left out or `NX` dropped. Whoever
//! checks all mutants of a lock learns which of its details no property asks for. (The idea is that
//! of mutation testing: DeMillo, Lipton, Sayward, Hints on test data selection, 1978.)
//!
//! What is changed: the functions of the file, helpers included, and all of its scripts. What the file
//! does while it is loaded (names, parameters, `keys`) is left alone: it says what the lock is.
//!
//! Every change is a change of the text, at a place that the parser has found. Rejected: changes of the
//! compiled code (no author could read them), and patterns on the text (they change comments). No change
//! moves a line, so places in messages stay those of the user's file.
//!
//! | file | what it does |
//! |---|---|
//! | `operators` | changes of Lua: signs, conditions, numbers, statements |
//! | `commands` | changes of what a lock asks Redis for: commands, options, keys and arguments |

mod commands;
mod operators;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use lockproof_lua::outline::{self, Part, What};

use super::file::LockFile;
use super::library::{Library, compiles};
use super::{LockError, file};

/// A kind of small change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// `==` and `~=`, `<` and `<=`, and so on.
    Comparison,
    /// `and` and `or`.
    Logic,
    /// `not` is dropped.
    Negation,
    /// A condition is always true, or never.
    Condition,
    /// `+` and `-`, `*` and `/`.
    Arithmetic,
    /// A number is another one.
    Number,
    /// `true` and `false`.
    Boolean,
    /// A call or an assignment is left out.
    Drop,
    /// Two neighbouring statements in the other order.
    Order,
    /// Another command of Redis that is much like it.
    Command,
    /// An option of a Redis command is another one, or dropped.
    Option,
    /// Another key or argument.
    Argument,
    /// What a function returns.
    Return,
}

impl Operator {
    /// Every operator with its name, in the order in which they are applied.
    pub const NAMED: [(Operator, &'static str); 13] = [
        (Operator::Comparison, "comparison"),
        (Operator::Logic, "logic"),
        (Operator::Negation, "negation"),
        (Operator::Condition, "condition"),
        (Operator::Arithmetic, "arithmetic"),
        (Operator::Number, "number"),
        (Operator::Boolean, "boolean"),
        (Operator::Drop, "drop"),
        (Operator::Order, "order"),
        (Operator::Command, "command"),
        (Operator::Option, "option"),
        (Operator::Argument, "argument"),
        (Operator::Return, "return"),
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        Operator::NAMED[self as usize].1
    }
}

/// One small change of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub operator: Operator,
    /// The lock file, or `lua/NAME.lua` for a script that is a file of its own.
    pub file: String,
    /// The line of that file in which the change begins, from 1.
    pub line: u32,
    /// What the change replaces; empty where it only adds.
    pub before: String,
    /// What stands in its place; empty where something is left out.
    pub after: String,
    /// The script that is changed; `None` for the file itself.
    script: Option<String>,
    /// Bytes of that text.
    range: Range<usize>,
}

/// A change before it has a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    operator: Operator,
    range: Range<usize>,
    after: String,
}

/// A text that is changed.
struct Source<'s> {
    text: &'s str,
    /// In the order of [`outline`].
    parts: Vec<Part>,
    /// It is a server's script, and no client's functions.
    is_script: bool,
}

impl<'s> Source<'s> {
    fn new(text: &'s str, is_script: bool) -> Source<'s> {
        Source {
            text,
            // What a file was compiled from has parts.
            parts: outline::outline(text.as_bytes()).unwrap_or_default(),
            is_script,
        }
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The parts that may be changed.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        let least = usize::from(!self.is_script);
        self.parts
            .iter()
            .filter(move |part| part.functions >= least)
    }

    /// Parts inside a range.
    fn within(&self, range: &Range<usize>) -> impl Iterator<Item = &Part> {
        let (from, to) = (range.start, range.end);
        let first = self.parts.partition_point(|part| part.range.start < from);
        let rest = self.parts[first..].iter();
        rest.take_while(move |part| part.range.start < to)
            .filter(move |part| part.range.end <= to)
    }

    /// Parts with just this range.
    fn at(&self, range: &Range<usize>) -> impl Iterator<Item = &Part> {
        let parts = self.within(range);
        parts.take_while(move |part| part.range == *range)
    }

    /// All changes, in the order of their places; each text comes about once.
    fn changes(&self) -> Vec<Change> {
        let mut changes = operators::changes(self);
        changes.extend(commands::changes(self));
        changes.sort_by_key(|change| (change.range.start, change.operator));
        let mut known = BTreeSet::new();
        changes.retain(|change| {
            self.slice(&change.range) != change.after && known.insert(self.least(change))
        });
        changes
    }

    /// The line on which a script begins that stands here as a text, if its lines are lines of this one.
    fn line_of_text(&self, script: &str) -> Option<u32> {
        let is_script =
            |part: &&Part| matches!(&part.what, What::Text(text) if text == script.as_bytes());
        let mut texts = self.parts.iter().filter(|part| part.functions == 0);
        let literal = texts.find(is_script)?;
        let at = self.slice(&literal.range).find(script)?;
        let before = self.text.get(..literal.range.start + at)?;
        Some(1 + before.matches('\n').count() as u32)
    }

    /// What a change changes, without what both texts have in common.
    fn least(&self, change: &Change) -> (usize, usize, String) {
        let before = self.slice(&change.range).as_bytes();
        let after = change.after.as_bytes();
        let common = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let (rest, other) = (&before[common..], &after[common..]);
        let pairs = rest.iter().rev().zip(other.iter().rev());
        let end = pairs.take_while(|(a, b)| a == b).count();
        let left = String::from_utf8_lossy(&other[..other.len() - end]).into_owned();
        (change.range.start + common, change.range.end - end, left)
    }
}

impl LockFile {
    /// Every mutant of this lock, in the order of their places: first those of the file, then those
    /// of its scripts by name.
    pub fn mutants(&self) -> Vec<Mutant> {
        let own = Source::new(&self.text, false);
        let mut mutants = located(&own, &self.path, 1, None);
        for (name, text) in self.scripts.iter() {
            let (file, line) = match own.line_of_text(text) {
                Some(line) => (self.path.clone(), line),
                None => (format!("lua/{name}.lua"), 1),
            };
            let script = Source::new(text, true);
            mutants.extend(located(&script, &file, line, Some(name)));
        }
        mutants
    }

    /// The lock with one change. Scripts that it names are those that this one has.
    ///
    /// # Errors
    /// If it does not compile, or is no lock any more.
    pub fn mutated(&self, mutant: &Mutant) -> Result<LockFile, LockError> {
        match &mutant.script {
            None => {
                let text = changed(&self.text, mutant);
                LockFile::from_text_with(&self.path, &text, Library::Known(&self.scripts))
            }
            Some(name) => {
                let mut scripts = (*self.scripts).clone();
                if let Some(text) = scripts.get_mut(name) {
                    *text = changed(text, mutant);
                    compiles(name, text).map_err(|message| LockError::Shape {
                        file: self.path.clone(),
                        message,
                    })?;
                }
                Ok(LockFile {
                    sha256: file::hash(&self.text, &scripts),
                    scripts: Arc::new(scripts),
                    ..self.clone()
                })
            }
        }
    }

    /// The line of a mutant as it is in the lock, without the blanks around it.
    pub fn line_of(&self, mutant: &Mutant) -> &str {
        let text = match &mutant.script {
            None => Some(&*self.text),
            Some(name) => self.scripts.get(name).map(String::as_str),
        };
        let text = text.unwrap_or_default();
        let before = text.get(..mutant.range.start).unwrap_or_default();
        let from = before.rfind('\n').map_or(0, |at| at + 1);
        let line = text.get(from..).unwrap_or_default().lines().next();
        line.unwrap_or_default().trim()
    }
}

fn located(source: &Source<'_>, file: &str, first: u32, script: Option<&str>) -> Vec<Mutant> {
    let ends = source.text.match_indices('\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    let line = |at: usize| first + ends.partition_point(|end| *end < at) as u32;
    let changes = source.changes().into_iter();
    changes
        .map(|change| Mutant {
            operator: change.operator,
            file: file.to_owned(),
            line: line(change.range.start),
            before: source.slice(&change.range).to_owned(),
            after: change.after,
            script: script.map(str::to_owned),
            range: change.range,
        })
        .collect()
}

/// The text with the change. It has as many lines as before, and words do not run together.
fn changed(text: &str, mutant: &Mutant) -> String {
    let before = text.get(..mutant.range.start).unwrap_or_default();
    let behind = text.get(mutant.range.end..).unwrap_or_default();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let joins = |a: Option<char>, b: Option<char>| match (a, b) {
        (Some('-'), Some('-')) => true,
        (Some(a), Some(b)) => is_word(a) && is_word(b),
        _ => false,
    };
    let mut out = before.to_owned();
    let first = mutant.after.chars().next().or(behind.chars().next());
    if joins(before.chars().next_back(), first) {
        out.push(' ');
    }
    out += &mutant.after;
    if !mutant.after.is_empty() && joins(out.chars().next_back(), behind.chars().next()) {
        out.push(' ');
    }
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let missing = lines(&mutant.before).saturating_sub(lines(&mutant.after));
    out.extend(std::iter::repeat_n('\n', missing));
    out + behind
}
