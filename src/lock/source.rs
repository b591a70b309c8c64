//! Rewrites a lock file so that a suspended stack tells exactly where it stands.
//!
//! Lua 5.1 reveals the *line* of a suspended call, not its instruction. Two
//! calls on one line would look alike, and two local states that go on
//! differently would be merged. So the text is rewritten: every call stands on a
//! line of its own, and so does every `function` keyword, which makes the pair
//! (line where the function is defined, current line) name one instruction.
//! What a line number cannot show, half-finished expressions, Lua shows as
//! `(*temporary)` locals of the frame.
//!
//! Only white space and the optional parentheses of `f"text"` and `f{...}` are
//! added, so the program means the same. A map leads back to the user's lines.
//! Rejected: a real parser (all we need are tokens), and a patched interpreter
//! that reveals the program counter (the real side should run stock Lua).

/// A rewritten text and the way back.
#[derive(Clone, Debug)]
pub(crate) struct Rewritten {
    /// Lua source with one call a line.
    pub text: String,
    /// `lines[i]` is the user's line of rewritten line `i + 1`.
    pub lines: Vec<u32>,
}

impl Rewritten {
    /// The user's line of a rewritten line (both from 1); 0 if there is none.
    pub fn user_line(&self, rewritten: u32) -> u32 {
        let index = (rewritten as usize).wrapping_sub(1);
        self.lines.get(index).copied().unwrap_or(0)
    }
}

/// A token cannot be read, or may not be used: the line and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadToken {
    pub line: u32,
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Name,
    Keyword,
    Number,
    Text,
    Symbol,
}

#[derive(Clone, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    line: u32,
    /// Starts a new line in the rewritten text.
    own_line: bool,
}

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Rewrites `source`; fails at a token that Lua 5.1 does not have, and at `...`.
pub(crate) fn rewrite(source: &str) -> Result<Rewritten, BadToken> {
    let mut tokens = add_parentheses(tokenize(source)?);
    mark_own_lines(&mut tokens);
    Ok(print(&tokens))
}

fn tokenize(source: &str) -> Result<Vec<Token<'_>>, BadToken> {
    let mut scan = Scan {
        source,
        at: 0,
        line: 1,
    };
    // A first line that starts with # is skipped by the lua command; so do we.
    if source.starts_with('#') {
        scan.at = source.find('\n').unwrap_or(source.len());
    }
    let mut tokens = Vec::new();
    while let Some(token) = scan.next_token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Scan<'a> {
    source: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn bad(&self, line: u32, message: impl Into<String>) -> BadToken {
        BadToken {
            line,
            message: message.into(),
        }
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let text = &self.source[self.at..self.at + bytes];
        self.line += text.bytes().filter(|b| *b == b'\n').count() as u32;
        self.at += bytes;
        text
    }

    fn next_token(&mut self) -> Result<Option<Token<'a>>, BadToken> {
        self.skip_blanks()?;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        let second = rest.as_bytes().get(1).copied().unwrap_or(0);
        let line = self.line;
        let (kind, length) = if first.is_ascii_alphabetic() || first == '_' {
            let length = word_length(rest);
            let keyword = KEYWORDS.contains(&&rest[..length]);
            (if keyword { Kind::Keyword } else { Kind::Name }, length)
        } else if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
            (Kind::Number, number_length(rest))
        } else if first == '"' || first == '\'' {
            let length = quoted_length(rest)
                .ok_or_else(|| self.bad(line, "this string has no end; close its quote"))?;
            (Kind::Text, length)
        } else if let Some(level) = long_bracket(rest) {
            let length = long_length(rest, level)
                .ok_or_else(|| self.bad(line, "this long string has no end; close it with ]]"))?;
            (Kind::Text, length)
        } else {
            (Kind::Symbol, self.symbol_length(rest, first)?)
        };
        let text = self.advance(length);
        Ok(Some(Token {
            kind,
            text,
            line,
            own_line: false,
        }))
    }

    fn symbol_length(&self, rest: &str, first: char) -> Result<usize, BadToken> {
        if rest.starts_with("...") {
            return Err(self.bad(
                self.line,
                "`...` may not be used: extra arguments are not visible while a command waits; \
                 name each parameter, or pass a table",
            ));
        }
        if ["==", "~=", "<=", ">=", ".."]
            .iter()
            .any(|s| rest.starts_with(s))
        {
            return Ok(2);
        }
        if "+-*/%^#<>=(){}[];:,.".contains(first) {
            return Ok(1);
        }
        Err(self.bad(
            self.line,
            format!("`{first}` is not a Lua 5.1 token; remove it"),
        ))
    }

    fn skip_blanks(&mut self) -> Result<(), BadToken> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.advance(blanks);
            let rest = self.rest();
            let Some(comment) = rest.strip_prefix("--") else {
                return Ok(());
            };
            let length = match long_bracket(comment) {
                Some(level) => long_length(comment, level).ok_or_else(|| {
                    self.bad(self.line, "this comment has no end; close it with ]]")
                })?,
                None => comment.find('\n').unwrap_or(comment.len()),
            };
            self.advance(2 + length);
        }
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len())
}

/// Lua reads digits, dots, letters and a sign after an exponent, then checks.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hex = rest.starts_with("0x") || rest.starts_with("0X");
    let mut end = 0;
    while end < bytes.len() {
        let sign = (bytes[end] == b'+' || bytes[end] == b'-')
            && !hex
            && matches!(bytes[end - 1], b'e' | b'E');
        if !(bytes[end].is_ascii_alphanumeric() || matches!(bytes[end], b'.' | b'_') || sign) {
            break;
        }
        end += 1;
    }
    end
}

fn quoted_length(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' => return None,
            b if b == bytes[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The level of a long bracket `[[`, `[=[`, ... that `rest` starts with.
fn long_bracket(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let level = inner.len() - inner.trim_start_matches('=').len();
    inner[level..].starts_with('[').then_some(level)
}

fn long_length(rest: &str, level: usize) -> Option<usize> {
    let close = format!("]{}]", "=".repeat(level));
    Some(rest.find(&close)? + close.len())
}

/// Can the value that ends in `token` be called?
fn callable(token: Option<&Token<'_>>) -> bool {
    token.is_some_and(|t| t.kind == Kind::Name || (t.kind == Kind::Symbol && ")]".contains(t.text)))
}

/// `f"x"` becomes `f("x")` and `f{..}` becomes `f({..})`, so that the rest has
/// one form of call to think about (and `f"a""b"` can be split at all).
fn add_parentheses(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut out: Vec<Token<'_>> = Vec::with_capacity(tokens.len());
    // For each open brace: was a parenthesis put before it?
    let mut braces = Vec::new();
    for token in tokens {
        let opens = token.kind == Kind::Text || token.text == "{" && token.kind == Kind::Symbol;
        let argument = opens && callable(out.last());
        if argument {
            // On the callee's line: Lua forbids a new line before this token.
            let line = out.last().map_or(token.line, |t| t.line);
            out.push(symbol("(", line));
        }
        let (kind, line) = (token.kind, token.line);
        let text = token.text;
        out.push(token);
        let close = match (kind, text) {
            (Kind::Text, _) => argument,
            (Kind::Symbol, "{") => {
                braces.push(argument);
                false
            }
            (Kind::Symbol, "}") => braces.pop().unwrap_or(false),
            _ => false,
        };
        if close {
            out.push(symbol(")", line));
        }
    }
    out
}

fn symbol(text: &'static str, line: u32) -> Token<'static> {
    Token {
        kind: Kind::Symbol,
        text,
        line,
        own_line: false,
    }
}

/// The token before a call's `(` starts a line: Lua takes a call's line from
/// its `(`, and refuses a new line right before it.
fn mark_own_lines(tokens: &mut [Token<'_>]) {
    let mut parameters = false;
    for i in 0..tokens.len() {
        match (tokens[i].kind, tokens[i].text) {
            (Kind::Keyword, "function") => {
                tokens[i].own_line = true;
                parameters = true;
            }
            (Kind::Symbol, "(") if parameters => parameters = false,
            (Kind::Symbol, "(") if i > 0 && callable(tokens.get(i - 1)) => {
                tokens[i - 1].own_line = true;
            }
            _ => {}
        }
    }
}

fn print(tokens: &[Token<'_>]) -> Rewritten {
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut user_line = 0;
    for token in tokens {
        if lines.is_empty() || token.own_line || token.line != user_line {
            if !lines.is_empty() {
                text.push('\n');
            }
            lines.push(token.line);
        } else {
            text.push(' ');
        }
        text.push_str(token.text);
        let inside = token.text.bytes().filter(|b| *b == b'\n').count() as u32;
        lines.extend((1..=inside).map(|n| token.line + n));
        user_line = token.line + inside;
    }
    Rewritten { text, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<String> {
        let rewritten = rewrite(source).unwrap();
        rewritten.text.lines().map(str::to_string).collect()
    }

    #[test]
    fn every_call_stands_on_its_own_line() {
        assert_eq!(
            lines("local a = f(g(1), h(2))(3)"),
            ["local a =", "f (", "g ( 1 ) ,", "h ( 2 )", ") ( 3 )"]
        );
    }

    #[test]
    fn methods_strings_and_tables_as_arguments_are_calls_too() {
        assert_eq!(lines("a:b(1)"), ["a :", "b ( 1 )"]);
        assert_eq!(lines("f'x'"), ["f ( 'x' )"]);
        assert_eq!(lines("f'x''y'"), ["f ( 'x'", ") ( 'y' )"]);
        assert_eq!(lines("f{g{}}"), ["f ( {", "g ( { } ) } )"]);
        assert_eq!(lines("return {1}"), ["return { 1 }"]);
        assert_eq!(lines("t[1](2)"), ["t [ 1", "] ( 2 )"]);
    }

    #[test]
    fn each_function_starts_a_line_and_its_parameters_are_no_call() {
        assert_eq!(
            lines("local f, g = function(a) end, function(b) end"),
            [
                "local f , g =",
                "function ( a ) end ,",
                "function ( b ) end"
            ]
        );
        assert_eq!(
            lines("local function f(a) end"),
            ["local", "function f ( a ) end"]
        );
        assert_eq!(lines("function t.f(a) end"), ["function t . f ( a ) end"]);
    }

    #[test]
    fn the_map_leads_back_through_comments_and_long_strings() {
        let source = "-- one\n--[[ two\nthree ]] local s = [[four\nfive]] f(s)\n\ng(f(s))\n";
        let rewritten = rewrite(source).unwrap();
        assert_eq!(rewritten.lines, [3, 4, 4, 6, 6]);
        let line_of = |text: &str| {
            let at = rewritten.text.lines().position(|l| l.contains(text));
            rewritten.user_line(at.unwrap() as u32 + 1)
        };
        assert_eq!(line_of("local s"), 3);
        assert_eq!(line_of("g ("), 6);
    }

    #[test]
    fn numbers_and_dots_are_told_apart() {
        assert_eq!(lines("x = 1 ..2"), ["x = 1 .. 2"]);
        assert_eq!(lines("x = .5e-3+0xFF"), ["x = .5e-3 + 0xFF"]);
        assert_eq!(lines("x = a.b..c"), ["x = a . b .. c"]);
    }

    #[test]
    fn varargs_and_open_strings_are_refused_with_their_line() {
        let bad = rewrite("local x\nlocal function f(...) end").unwrap_err();
        assert_eq!(bad.line, 2);
        assert!(
            bad.message.contains("name each parameter"),
            "{}",
            bad.message
        );
        assert_eq!(rewrite("\n\nx = 'abc").unwrap_err().line, 3);
        assert_eq!(rewrite("\nx = [[abc").unwrap_err().line, 2);
        assert_eq!(rewrite("x = a != b").unwrap_err().line, 1);
    }
}
