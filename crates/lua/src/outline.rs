//! Where the parts of a program stand in its text.
//!
//! Whoever wants to change a program by a word (`lock/mutate` of the model does) needs places, not a
//! tree: which bytes are a condition, a statement, an argument. The parser notes them while it reads,
//! so that comments and texts are never taken for code and no grammar stands in a second place.
//!
//! Rejected: places in the tree itself (every run of every lock would carry them), and a search in the
//! tokens (it cannot know where an expression ends).

use std::ops::Range;

use super::lexer::SyntaxError;
use super::parser;

/// A part of a program's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is.
    pub what: What,
    /// Its bytes in the source.
    pub range: Range<usize>,
    /// How many functions stand around it; 0 for the file's own statements.
    pub functions: usize,
}

/// What a part of a program is.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A whole statement, without the semicolon behind it.
    Statement {
        /// The number of the block in which it stands.
        block: usize,
        kind: StatementKind,
    },
    /// What a local statement gives its names: from the end of the last name, `=` included.
    Given,
    /// The condition of `if`, `elseif`, `while` or `until`.
    Condition,
    /// The sign of an operation on two values.
    Operator(&'static str),
    /// `not` up to its operand.
    Not,
    Number(f64),
    /// `true`, `false` or `nil`.
    Word(&'static str),
    /// With its bytes.
    Text(Vec<u8>),
    /// A call of a function by name or field; methods are none.
    Call {
        /// What is called.
        callee: Range<usize>,
        arguments: Vec<Range<usize>>,
    },
    /// The entries of a table that has no keys.
    List(Vec<Range<usize>>),
    /// A global's entry with a fixed number, as in `KEYS[1]`.
    Element {
        name: String,
        number: f64,
    },
    /// A field of a variable, as in `lock.key`.
    Field,
    /// The value of a `return` that gives one.
    Returned(Shape),
}

/// What a statement is, as far as it matters to whoever moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    Call,
    /// It gives variables or fields new values.
    Assign,
    Local,
    /// `return` or `break`: nothing may follow it.
    Last,
    Other,
}

/// What the value of an expression can be, by its outermost operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A comparison, `not`, `and`, `or`, `true`, `false` or `nil`.
    Truth,
    /// A number, or arithmetic.
    Number,
    Call,
    Other,
}

/// The parts of a program, in the order of their beginnings; of those that begin at one place the
/// longest comes first, and of those with one range the innermost.
///
/// # Errors
/// If the text is no Lua 5.1.
pub fn outline(source: &[u8]) -> Result<Vec<Part>, SyntaxError> {
    let mut parts = parser::parts(source)?;
    parts.sort_by_key(|part| (part.range.start, usize::MAX - part.range.end));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(source: &str) -> Vec<String> {
        let parts = outline(source.as_bytes()).unwrap().into_iter();
        parts
            .map(|part| format!("{:?} `{}`", part.what, &source[part.range]))
            .collect()
    }

    #[test]
    fn parts_are_found_where_they_stand() {
        let found = told("if not a and KEYS[1] == 'if' then f(x.y, { 1, true }) end -- if b then");
        let wanted = [
            "Statement { block: 0, kind: Other } `if not a and KEYS[1] == 'if' then f(x.y, { 1, true }) end`",
            "Condition `not a and KEYS[1] == 'if'`",
            "Not `not `",
            "Operator(\"and\") `and`",
            "Element { name: \"KEYS\", number: 1.0 } `KEYS[1]`",
            "Number(1.0) `1`",
            "Operator(\"==\") `==`",
            "Text([105, 102]) `'if'`",
            "Call { callee: 34..35, arguments: [36..39, 41..52] } `f(x.y, { 1, true })`",
            "Statement { block: 1, kind: Call } `f(x.y, { 1, true })`",
            "Field `x.y`",
            "List([43..44, 46..50]) `{ 1, true }`",
            "Number(1.0) `1`",
            "Word(\"true\") `true`",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn values_that_are_given_and_returned_are_parts() {
        let found = told("local a, b = 1\nreturn a <= b");
        assert!(found.contains(&"Given ` = 1`".to_owned()), "{found:?}");
        let returned = "Returned(Truth) `a <= b`".to_owned();
        assert!(found.contains(&returned), "{found:?}");
        // What returns several values has no one value.
        let found = told("return a, b");
        assert!(!found.iter().any(|part| part.starts_with("Returned")));
    }

    #[test]
    fn functions_around_a_part_are_counted() {
        let parts = outline(b"return { f = function() return 7 end, g = 8 }").unwrap();
        let depth = |number: f64| {
            let part = parts.iter().find(|part| part.what == What::Number(number));
            part.map(|part| part.functions)
        };
        assert_eq!((depth(7.0), depth(8.0)), (Some(1), Some(0)));
    }

    #[test]
    fn a_text_that_is_no_lua_has_no_parts() {
        assert_eq!(outline(b"\nif x").unwrap_err().line, 2);
    }
}
