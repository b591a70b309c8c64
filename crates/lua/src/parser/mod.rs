//! Reads Lua 5.1. The grammar, its limits and its messages are those of the
//! reference implementation's lparser.c, so that a script which does not compile
//! says in the model what it says in Redis.

mod expressions;

use std::ops::Range;

use super::ast::*;
use super::lexer::{Lexeme, Lexer, SyntaxError, Token};
use super::outline;

/// Nested blocks and expressions, as LUAI_MAXCCALLS.
const NESTED_MAX: usize = 200;
const LOCALS_MAX: usize = 200;
const UPS_MAX: usize = 60;
/// Parts of a chain such as `a.b.c` or `1 + 2 + 3`. The reference implementation has no
/// such limit; here a chain is a tree, and walking one takes a stack.
const CHAIN_MAX: usize = 1000;
/// Expressions in one list. The reference implementation has 250 registers.
const LIST_MAX: usize = 250;

/// Reads a whole file.
pub(super) fn parse(source: &[u8]) -> Result<Function, SyntaxError> {
    read(source, None).map(|(function, _)| function)
}

/// Reads a whole file, and says where its parts stand.
pub(super) fn parts(source: &[u8]) -> Result<Vec<outline::Part>, SyntaxError> {
    read(source, Some(Vec::new())).map(|(_, parts)| parts.unwrap_or_default())
}

type Parts = Option<Vec<outline::Part>>;

fn read(source: &[u8], parts: Parts) -> Result<(Function, Parts), SyntaxError> {
    let mut lexer = Lexer::new(source);
    let current = lexer.next()?;
    let mut parser = Parser {
        lexer,
        last_line: 1,
        last_end: 0,
        parts,
        blocks: 0,
        ahead: None,
        current,
        scopes: vec![Scope::new(0, true)],
        nested: 0,
        deep: 0,
    };
    let body = parser.block()?;
    parser.expect("<eof>")?;
    let last_line = parser.last_line;
    match parser.scopes.pop() {
        Some(scope) => Ok((scope.finish(0, body, last_line), parser.parts)),
        None => Err(parser.error("no function to end")),
    }
}

/// A function that is being read.
struct Scope {
    locals: Vec<Local>,
    /// Names in sight, innermost last.
    visible: Vec<(String, usize)>,
    ups: Vec<Up>,
    vararg: bool,
    /// `...` stands in its body.
    dots: bool,
    line: u32,
    loops: usize,
}

impl Scope {
    fn new(line: u32, vararg: bool) -> Scope {
        Scope {
            locals: Vec::new(),
            visible: Vec::new(),
            ups: Vec::new(),
            vararg,
            dots: false,
            line,
            loops: 0,
        }
    }

    fn finish(self, params: usize, body: Block, last_line: u32) -> Function {
        Function {
            params,
            vararg: self.vararg,
            arg: self.vararg && self.line > 0 && !self.dots,
            locals: self.locals,
            ups: self.ups,
            body,
            line: self.line,
            last_line,
        }
    }
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    current: Lexeme,
    ahead: Option<Lexeme>,
    /// The line of the token read last.
    last_line: u32,
    /// Where it ends.
    last_end: usize,
    /// What [`outline`](super::outline) asks for; `None` if nobody asks.
    parts: Parts,
    /// Blocks that have begun.
    blocks: usize,
    scopes: Vec<Scope>,
    nested: usize,
    /// How deep a tree the parts of the expression are that is being read.
    deep: usize,
}

type Read<T> = Result<T, SyntaxError>;

impl Parser<'_> {
    // ---- tokens ----

    fn error(&self, message: &str) -> SyntaxError {
        let near = match &self.current.token {
            Token::End => "<eof>".to_owned(),
            Token::Fixed(text) => (*text).to_owned(),
            _ => self.lexer.shown(self.current.at),
        };
        SyntaxError {
            line: self.current.line,
            message: format!("{message} near '{near}'"),
        }
    }

    fn limit(&self, most: usize, what: &str) -> SyntaxError {
        let line = self.scope().line;
        let place = match line {
            0 => "main function".to_owned(),
            line => format!("function at line {line}"),
        };
        SyntaxError {
            line: self.current.line,
            message: format!("{place} has more than {most} {what}"),
        }
    }

    fn advance(&mut self) -> Read<Lexeme> {
        self.last_line = self.current.line;
        self.last_end = self.current.at.1;
        let next = match self.ahead.take() {
            Some(next) => next,
            None => self.lexer.next()?,
        };
        Ok(std::mem::replace(&mut self.current, next))
    }

    fn is(&self, text: &str) -> bool {
        matches!(&self.current.token, Token::Fixed(fixed) if *fixed == text)
            || text == "<eof>" && self.current.token == Token::End
    }

    fn take(&mut self, text: &str) -> Read<bool> {
        let found = self.is(text);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, text: &str) -> Read<()> {
        if text == "<eof>" && self.current.token == Token::End {
            return Ok(());
        }
        match self.take(text)? {
            true => Ok(()),
            false => Err(self.error(&format!("'{text}' expected"))),
        }
    }

    /// The end of something that began at `line`.
    fn close(&mut self, what: &str, opener: &str, line: u32) -> Read<()> {
        if self.take(what)? {
            return Ok(());
        }
        if line == self.current.line {
            return Err(self.error(&format!("'{what}' expected")));
        }
        Err(self.error(&format!(
            "'{what}' expected (to close '{opener}' at line {line})"
        )))
    }

    fn name(&mut self) -> Read<String> {
        match &self.current.token {
            Token::Name(name) => {
                let name = name.clone();
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.error("'<name>' expected")),
        }
    }

    fn enter(&mut self) -> Read<()> {
        self.nested += 1;
        if self.nested > NESTED_MAX {
            return Err(SyntaxError {
                line: self.current.line,
                message: "chunk has too many syntax levels".into(),
            });
        }
        Ok(())
    }

    /// What was read is put inside another node of its chain. Nesting is counted by
    /// `enter`; a chain (`a.b.c`, `1 + 2 + 3`) needs no nesting to become a deep tree.
    fn deepen(&mut self) -> Read<()> {
        self.deep += 1;
        if self.deep > CHAIN_MAX {
            return Err(SyntaxError {
                line: self.current.line,
                message: format!("an expression has more than {CHAIN_MAX} parts"),
            });
        }
        Ok(())
    }

    // ---- parts ----

    /// Where what is read next begins.
    fn here(&self) -> usize {
        self.current.at.0
    }

    /// Notes what stands between `from` and the end of what was read.
    fn note(&mut self, from: usize, what: impl FnOnce() -> outline::What) {
        let range = from..self.last_end;
        self.note_at(range, what);
    }

    fn note_at(&mut self, range: Range<usize>, what: impl FnOnce() -> outline::What) {
        let functions = self.scopes.len() - 1;
        if let Some(parts) = &mut self.parts {
            parts.push(outline::Part {
                what: what(),
                range,
                functions,
            });
        }
    }

    /// An expression that decides which way a program goes.
    fn condition(&mut self) -> Read<Expr> {
        let from = self.here();
        let condition = self.expression()?;
        self.note(from, || outline::What::Condition);
        Ok(condition)
    }

    // ---- names ----

    fn scope(&self) -> &Scope {
        // There is one from the first line to the last.
        &self.scopes[self.scopes.len() - 1]
    }

    fn scope_mut(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// A new local; not in sight yet.
    fn declare(&mut self, name: &str) -> Read<usize> {
        if self.scope().visible.len() >= LOCALS_MAX {
            return Err(self.limit(LOCALS_MAX, "local variables"));
        }
        let scope = self.scope_mut();
        scope.locals.push(Local {
            name: name.to_owned(),
            captured: false,
        });
        Ok(scope.locals.len() - 1)
    }

    fn show(&mut self, local: usize) {
        let scope = self.scope_mut();
        let name = scope.locals[local].name.clone();
        scope.visible.push((name, local));
    }

    fn resolve(&mut self, name: &str) -> Read<Expr> {
        let innermost = self.scopes.len() - 1;
        Ok(match self.find(innermost, name)? {
            Some(UpFrom::Local(local)) => Expr::Local(local),
            Some(UpFrom::Up(up)) => Expr::Up(up),
            None => Expr::Global(name.to_owned()),
        })
    }

    fn find(&mut self, level: usize, name: &str) -> Read<Option<UpFrom>> {
        let scope = &self.scopes[level];
        let local = scope.visible.iter().rev().find(|(n, _)| n == name);
        if let Some((_, local)) = local {
            return Ok(Some(UpFrom::Local(*local)));
        }
        if let Some(up) = scope.ups.iter().position(|up| up.name == name) {
            return Ok(Some(UpFrom::Up(up)));
        }
        let Some(outer) = level.checked_sub(1) else {
            return Ok(None);
        };
        let Some(from) = self.find(outer, name)? else {
            return Ok(None);
        };
        if let UpFrom::Local(local) = from {
            self.scopes[outer].locals[local].captured = true;
        }
        if self.scopes[level].ups.len() >= UPS_MAX {
            return Err(self.limit(UPS_MAX, "upvalues"));
        }
        let scope = &mut self.scopes[level];
        scope.ups.push(Up {
            name: name.to_owned(),
            from,
        });
        Ok(Some(UpFrom::Up(scope.ups.len() - 1)))
    }

    // ---- statements ----

    fn block_ends(&self) -> bool {
        let ends = ["else", "elseif", "end", "until", "<eof>"];
        ends.iter().any(|end| self.is(end))
    }

    /// Statements until the block ends; its locals go out of sight.
    fn block(&mut self) -> Read<Block> {
        let visible = self.scope().visible.len();
        let block = self.open_block()?;
        self.scope_mut().visible.truncate(visible);
        Ok(block)
    }

    /// The same with its locals still in sight.
    fn open_block(&mut self) -> Read<Block> {
        self.enter()?;
        let mut block = Vec::new();
        let number = self.blocks;
        self.blocks += 1;
        while !self.block_ends() {
            let line = self.current.line;
            let (from, is_function) = (self.here(), self.is("function"));
            let (what, last) = self.statement()?;
            let kind = match &what {
                _ if last => outline::StatementKind::Last,
                What::Call(_) => outline::StatementKind::Call,
                What::Local(..) => outline::StatementKind::Local,
                What::Assign(..) if !is_function => outline::StatementKind::Assign,
                _ => outline::StatementKind::Other,
            };
            self.note(from, || outline::What::Statement {
                block: number,
                kind,
            });
            block.push(Statement { line, what });
            self.take(";")?;
            if last {
                break;
            }
        }
        self.nested -= 1;
        Ok(block)
    }

    /// A statement, and whether none may follow it.
    fn statement(&mut self) -> Read<(What, bool)> {
        let line = self.current.line;
        let word = match self.current.token {
            Token::Fixed(word) => word,
            _ => "",
        };
        let what = match word {
            "if" => self.if_statement(line)?,
            "while" => {
                self.advance()?;
                let condition = self.condition()?;
                self.expect("do")?;
                let body = self.loop_block()?;
                self.close("end", "while", line)?;
                What::While(condition, body)
            }
            "do" => {
                self.advance()?;
                let block = self.block()?;
                self.close("end", "do", line)?;
                What::Do(block)
            }
            "for" => self.for_statement(line)?,
            "repeat" => {
                self.advance()?;
                let visible = self.scope().visible.len();
                self.scope_mut().loops += 1;
                let block = self.open_block()?;
                self.scope_mut().loops -= 1;
                self.close("until", "repeat", line)?;
                let condition = self.condition()?;
                self.scope_mut().visible.truncate(visible);
                What::Repeat(block, condition)
            }
            "function" => self.function_statement(line)?,
            "local" => {
                self.advance()?;
                if self.take("function")? {
                    let name = self.name()?;
                    let local = self.declare(&name)?;
                    self.show(local);
                    What::LocalFunction(local, Box::new(self.function_body(false, line)?))
                } else {
                    self.local_statement()?
                }
            }
            "return" => {
                self.advance()?;
                let from = self.here();
                let values = if self.block_ends() || self.is(";") {
                    Vec::new()
                } else {
                    self.expressions()?
                };
                if let [value] = values.as_slice() {
                    let shape = shape(value);
                    self.note(from, || outline::What::Returned(shape));
                }
                return Ok((What::Return(values), true));
            }
            "break" => {
                self.advance()?;
                if self.scope().loops == 0 {
                    return Err(self.error("no loop to break"));
                }
                return Ok((What::Break, true));
            }
            _ => self.expression_statement()?,
        };
        Ok((what, false))
    }

    fn loop_block(&mut self) -> Read<Block> {
        self.scope_mut().loops += 1;
        let block = self.block()?;
        self.scope_mut().loops -= 1;
        Ok(block)
    }

    fn if_statement(&mut self, line: u32) -> Read<What> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            self.advance()?; // `if` or `elseif`
            let condition = self.condition()?;
            self.expect("then")?;
            branches.push((condition, self.block()?));
            if self.is("elseif") {
                continue;
            }
            if self.take("else")? {
                otherwise = Some(self.block()?);
            }
            self.close("end", "if", line)?;
            return Ok(What::If(branches, otherwise));
        }
    }

    fn for_statement(&mut self, line: u32) -> Read<What> {
        self.advance()?;
        let first = self.name()?;
        let visible = self.scope().visible.len();
        let what = if self.take("=")? {
            let from = self.expression()?;
            self.expect(",")?;
            let to = self.expression()?;
            let step = match self.take(",")? {
                true => Some(self.expression()?),
                false => None,
            };
            let local = self.declare(&first)?;
            self.expect("do")?;
            self.show(local);
            let body = self.loop_block()?;
            What::For {
                local,
                from,
                to,
                step,
                body,
            }
        } else if self.is(",") || self.is("in") {
            let mut locals = vec![self.declare(&first)?];
            while self.take(",")? {
                let name = self.name()?;
                locals.push(self.declare(&name)?);
            }
            self.expect("in")?;
            let list = self.expressions()?;
            self.expect("do")?;
            for local in &locals {
                self.show(*local);
            }
            let body = self.loop_block()?;
            What::ForIn { locals, list, body }
        } else {
            return Err(self.error("'=' or 'in' expected"));
        };
        self.close("end", "for", line)?;
        self.scope_mut().visible.truncate(visible);
        Ok(what)
    }

    fn function_statement(&mut self, line: u32) -> Read<What> {
        self.advance()?;
        let name = self.name()?;
        let mut target = self.resolve(&name)?;
        let mut method = false;
        while !method && (self.is(".") || self.is(":")) {
            method = self.is(":");
            self.advance()?;
            let at = self.current.line;
            let field = self.name()?;
            target = Expr::Index(
                Box::new(target),
                Box::new(Expr::Text(field.into_bytes())),
                at,
            );
        }
        let body = self.function_body(method, line)?;
        Ok(What::Assign(
            vec![target],
            vec![Expr::Function(Box::new(body))],
            line,
        ))
    }

    fn local_statement(&mut self) -> Read<What> {
        let mut locals = Vec::new();
        loop {
            let name = self.name()?;
            locals.push(self.declare(&name)?);
            if !self.take(",")? {
                break;
            }
        }
        let named = self.last_end;
        let values = match self.take("=")? {
            true => self.expressions()?,
            false => Vec::new(),
        };
        if !values.is_empty() {
            self.note(named, || outline::What::Given);
        }
        for local in &locals {
            self.show(*local);
        }
        Ok(What::Local(locals, values))
    }

    fn expression_statement(&mut self) -> Read<What> {
        let first = self.primary()?;
        if matches!(first, Expr::Call(..) | Expr::Method(..)) {
            return Ok(What::Call(first));
        }
        let mut targets = vec![first];
        loop {
            let assignable = matches!(
                targets.last(),
                Some(Expr::Local(_) | Expr::Up(_) | Expr::Global(_) | Expr::Index(..))
            );
            if !assignable {
                return Err(self.error("syntax error"));
            }
            if !self.take(",")? {
                break;
            }
            if targets.len() > NESTED_MAX - self.nested {
                return Err(self.limit(NESTED_MAX - self.nested, "variables in assignment"));
            }
            targets.push(self.primary()?);
        }
        self.expect("=")?;
        let values = self.expressions()?;
        Ok(What::Assign(targets, values, self.last_line))
    }

    // ---- expressions ----

    /// Parameters and body of a function whose `function` has been read.
    fn function_body(&mut self, method: bool, line: u32) -> Read<Function> {
        self.enter()?;
        self.scopes.push(Scope::new(line, false));
        let mut params = Vec::new();
        if method {
            params.push(self.declare("self")?);
        }
        self.expect("(")?;
        while !self.is(")") {
            if self.take("...")? {
                self.scope_mut().vararg = true;
                break;
            }
            if !matches!(self.current.token, Token::Name(_)) {
                return Err(self.error("<name> or '...' expected"));
            }
            let name = self.name()?;
            params.push(self.declare(&name)?);
            if !self.take(",")? {
                break;
            }
            if self.is(")") {
                return Err(self.error("<name> or '...' expected"));
            }
        }
        self.expect(")")?;
        // Lua 5.0's way to see extra arguments, which Redis still has.
        let arg = match self.scope().vararg {
            true => Some(self.declare("arg")?),
            false => None,
        };
        for local in params.iter().chain(&arg) {
            self.show(*local);
        }
        let body = self.block()?;
        let last_line = self.current.line;
        self.close("end", "function", line)?;
        self.nested -= 1;
        match self.scopes.pop() {
            Some(scope) => Ok(scope.finish(params.len(), body, last_line)),
            None => Err(self.error("no function to end")),
        }
    }
}

/// What the value of an expression can be.
fn shape(expr: &Expr) -> outline::Shape {
    match expr {
        Expr::Nil | Expr::True | Expr::False | Expr::And(..) | Expr::Or(..) => {
            outline::Shape::Truth
        }
        Expr::Unary(Unary::Not, ..) => outline::Shape::Truth,
        Expr::Binary(op, ..) => match op {
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                outline::Shape::Truth
            }
            Binary::Concat => outline::Shape::Other,
            _ => outline::Shape::Number,
        },
        Expr::Number(_) | Expr::Unary(..) => outline::Shape::Number,
        Expr::Call(..) | Expr::Method(..) => outline::Shape::Call,
        Expr::Paren(inner) => shape(inner),
        _ => outline::Shape::Other,
    }
}
