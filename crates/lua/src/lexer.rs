//! Lua 5.1's tokens, and its words for what is no token.

/// A text that is no Lua 5.1: the line, and what Lua says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// From 1.
    pub line: u32,
    /// Without the place in front.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(Vec<u8>),
    Number(f64),
    /// A reserved word or a symbol.
    Fixed(&'static str),
    End,
}

pub(super) const WORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// Longer ones first.
const SYMBOLS: [&str; 26] = [
    "...", "..", "==", "~=", "<=", ">=", "+", "-", "*", "/", "%", "^", "#", "<", ">", "=", "(",
    ")", "{", "}", "[", "]", ";", ":", ",", ".",
];

/// A token with its place.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub line: u32,
    /// Where it begins and ends in the source, for messages.
    pub at: (usize, usize),
}

pub(super) struct Lexer<'s> {
    source: &'s [u8],
    at: usize,
    pub line: u32,
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s [u8]) -> Lexer<'s> {
        let mut lexer = Lexer {
            source,
            at: 0,
            line: 1,
        };
        // The lua command skips a first line that starts with #; so do we.
        if source.first() == Some(&b'#') {
            while !matches!(lexer.peek(), None | Some(b'\n')) {
                lexer.at += 1;
            }
        }
        lexer
    }

    /// The source between two places, as Lua's messages show it.
    pub fn shown(&self, (from, to): (usize, usize)) -> String {
        String::from_utf8_lossy(&self.source[from..to]).into_owned()
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    fn ahead(&self, by: usize) -> Option<u8> {
        self.source.get(self.at + by).copied()
    }

    fn error(&self, message: &str, near: Option<(usize, usize)>) -> SyntaxError {
        let message = match near {
            Some(place) => format!("{message} near '{}'", self.shown(place)),
            None => message.to_owned(),
        };
        SyntaxError {
            line: self.line,
            message,
        }
    }

    /// Steps over a line's end, which may be two characters.
    fn new_line(&mut self) {
        let first = self.peek();
        self.at += 1;
        if matches!(self.peek(), Some(b'\n' | b'\r')) && self.peek() != first {
            self.at += 1;
        }
        self.line += 1;
    }

    pub fn next(&mut self) -> Result<Lexeme, SyntaxError> {
        self.skip_blanks()?;
        let from = self.at;
        let line = self.line;
        let token = self.token()?;
        // A long text ends on a later line, which is where Lua says it stands.
        let line = if matches!(token, Token::Text(_)) {
            self.line
        } else {
            line
        };
        Ok(Lexeme {
            token,
            line,
            at: (from, self.at),
        })
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(b'\n' | b'\r') => self.new_line(),
                Some(b' ' | b'\t' | 0x0b | 0x0c) => self.at += 1,
                Some(b'-') if self.ahead(1) == Some(b'-') => {
                    self.at += 2;
                    if let Some(level) = self.long_bracket() {
                        self.long_text(level, "comment")?;
                    } else {
                        while !matches!(self.peek(), None | Some(b'\n' | b'\r')) {
                            self.at += 1;
                        }
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let Some(first) = self.peek() else {
            return Ok(Token::End);
        };
        if first.is_ascii_alphabetic() || first == b'_' {
            return Ok(self.word());
        }
        let digit = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_digit());
        if digit(Some(first)) || (first == b'.' && digit(self.ahead(1))) {
            return self.number();
        }
        if matches!(first, b'"' | b'\'') {
            return self.quoted(first).map(Token::Text);
        }
        if let Some(level) = self.long_bracket() {
            return self.long_text(level, "string").map(Token::Text);
        }
        if first == b'[' && self.ahead(1) == Some(b'=') {
            return Err(self.error(
                "invalid long string delimiter",
                Some((self.at, self.at + 2)),
            ));
        }
        let rest = &self.source[self.at..];
        let found = SYMBOLS
            .iter()
            .find(|symbol| rest.starts_with(symbol.as_bytes()));
        match found {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Fixed(symbol))
            }
            None => {
                let shown = if first.is_ascii_control() {
                    format!("char({first})")
                } else {
                    char::from(first).to_string()
                };
                Err(self.error(&format!("unexpected symbol near '{shown}'"), None))
            }
        }
    }

    fn word(&mut self) -> Token {
        let from = self.at;
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            self.at += 1;
        }
        let word = self.shown((from, self.at));
        match WORDS.iter().find(|reserved| **reserved == word) {
            Some(reserved) => Token::Fixed(reserved),
            None => Token::Name(word),
        }
    }

    /// Lua reads digits, letters, points, and a sign behind an exponent's letter,
    /// and then asks C what number that is.
    fn number(&mut self) -> Result<Token, SyntaxError> {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit() || b == b'.') {
            self.at += 1;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
        }
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            self.at += 1;
        }
        match super::number::parse(&self.source[from..self.at]) {
            Some(value) => Ok(Token::Number(value)),
            None => Err(self.error("malformed number", Some((from, self.at)))),
        }
    }

    /// An error inside a text: what was read of it so far stands behind `near`.
    fn in_quotes(&self, message: &str, quote: u8, read: &[u8]) -> SyntaxError {
        let read = String::from_utf8_lossy(read);
        let near = format!("{message} near '{}{read}'", char::from(quote));
        self.error(&near, None)
    }

    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, SyntaxError> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.error("unfinished string near '<eof>'", None)),
                Some(b'\n' | b'\r') => {
                    return Err(self.in_quotes("unfinished string", quote, &out));
                }
                Some(b'\\') => self.escape(quote, &mut out)?,
                Some(byte) => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(out);
                    }
                    out.push(byte);
                }
            }
        }
    }

    fn escape(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<(), SyntaxError> {
        self.at += 1;
        let Some(byte) = self.peek() else {
            return Ok(());
        };
        let plain = match byte {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'\n' | b'\r' => {
                out.push(b'\n');
                self.new_line();
                return Ok(());
            }
            b'0'..=b'9' => return self.decimal_escape(quote, out),
            other => other,
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn decimal_escape(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<(), SyntaxError> {
        let mut value = 0u32;
        for _ in 0..3 {
            let Some(digit) = self.peek().filter(u8::is_ascii_digit) else {
                break;
            };
            value = value * 10 + u32::from(digit - b'0');
            self.at += 1;
        }
        match u8::try_from(value) {
            Ok(byte) => {
                out.push(byte);
                Ok(())
            }
            Err(_) => Err(self.in_quotes("escape sequence too large", quote, out)),
        }
    }

    /// The level of a long bracket that begins here.
    fn long_bracket(&self) -> Option<usize> {
        if self.peek() != Some(b'[') {
            return None;
        }
        let mut level = 0;
        while self.ahead(1 + level) == Some(b'=') {
            level += 1;
        }
        (self.ahead(1 + level) == Some(b'[')).then_some(level)
    }

    fn long_text(&mut self, level: usize, what: &str) -> Result<Vec<u8>, SyntaxError> {
        self.at += level + 2;
        // A line's end right behind the bracket is not part of the text.
        if matches!(self.peek(), Some(b'\n' | b'\r')) {
            self.new_line();
        }
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => {
                    return Err(self.error(&format!("unfinished long {what} near '<eof>'"), None));
                }
                Some(b'\n' | b'\r') => {
                    self.new_line();
                    out.push(b'\n');
                }
                Some(b']') if self.closes(level) => {
                    self.at += level + 2;
                    return Ok(out);
                }
                Some(b'[') if level == 0 && self.ahead(1) == Some(b'[') => {
                    let near = (self.at, self.at + 1);
                    return Err(self.error("nesting of [[...]] is deprecated", Some(near)));
                }
                Some(byte) => {
                    self.at += 1;
                    out.push(byte);
                }
            }
        }
    }

    fn closes(&self, level: usize) -> bool {
        (1..=level).all(|by| self.ahead(by) == Some(b'=')) && self.ahead(level + 1) == Some(b']')
    }
}
