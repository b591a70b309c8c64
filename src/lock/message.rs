//! Turns Lua's messages into sentences about the user's file.

use super::error::LockError;
use super::source::Rewritten;
use super::vm::TOO_LONG;

/// The file that lines are about, and the way back to them.
pub(crate) struct Places<'a> {
    pub file: &'a str,
    pub rewritten: &'a Rewritten,
}

/// Lua's wording, ours: what a user can not know is explained.
const CLEARER: &[(&str, &str)] = &[
    (
        "attempt to yield across metamethod/C-call boundary",
        "a word that may wait was used where nothing can wait (inside an iterator of `for` or a comparison of \
         table.sort); call it before, and keep its result in a local",
    ),
    (
        "stack overflow",
        "functions call each other without end (stack overflow); use a loop",
    ),
    (
        "not enough memory",
        "more memory is needed than a lock can need (64 MB); does a table or a text grow for ever?",
    ),
    (TOO_LONG, TOO_LONG),
];

impl Places<'_> {
    /// `file:line` for a line of the rewritten text.
    pub fn at(&self, rewritten_line: u32) -> String {
        match self.rewritten.user_line(rewritten_line) {
            0 => self.file.to_string(),
            line => format!("{}:{line}", self.file),
        }
    }

    /// The error of a run as a [`LockError`] that names the user's line.
    /// `stands_at` is the rewritten line where the coroutine stopped, for errors
    /// that name none themselves (limits; mistakes found by a word).
    pub fn explain(&self, error: &mlua::Error, stands_at: u32) -> LockError {
        let whole = match error {
            mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => {
                message.clone()
            }
            mlua::Error::SyntaxError { message, .. } => message.clone(),
            mlua::Error::CallbackError { cause, traceback } => format!("{cause}\n{traceback}"),
            other => other.to_string(),
        };
        let at = self.at(first_line(&whole).unwrap_or(stands_at));
        let message = whole.split("\nstack traceback:").next().unwrap_or("");
        let message = CLEARER
            .iter()
            .find(|(lua, _)| message.contains(lua))
            .map_or_else(|| self.translate(message), |(_, ours)| ours.to_string());
        if matches!(error, mlua::Error::SyntaxError { .. }) {
            LockError::Syntax { at, message }
        } else {
            LockError::Run { at, message }
        }
    }

    /// Drops the place in front and speaks of times, not of userdata.
    fn translate(&self, message: &str) -> String {
        let mut text = message
            .strip_prefix("runtime error: ")
            .unwrap_or(message)
            .to_string();
        if let Some(rest) = text.strip_prefix("@:") {
            text = rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start_matches(": ")
                .to_string();
        }
        // Syntax errors name a second line: "(to close 'function' at line 3)".
        if let Some((before, after)) = text.split_once("at line ") {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Ok(line) = after[..digits].parse() {
                let user = self.rewritten.user_line(line);
                text = format!("{before}at line {user}{}", &after[digits..]);
            }
        }
        text.replace("a userdata value", "a time")
            .replace("two userdata values", "two times")
            .replace("userdata", "time")
    }
}

/// The first `@:LINE:` of a message with its traceback: the innermost place in
/// the user's file.
fn first_line(message: &str) -> Option<u32> {
    let after = message.split("@:").nth(1)?;
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    after[..digits].parse().ok()
}
