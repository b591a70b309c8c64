//! Expressions: calls, tables, and operators by their priority.

use super::*;

impl Parser<'_> {
    pub(super) fn expressions(&mut self) -> Read<Vec<Expr>> {
        Ok(self.listed()?.0)
    }

    /// Expressions, each with its place.
    fn listed(&mut self) -> Read<(Vec<Expr>, Vec<Range<usize>>)> {
        let (mut list, mut places) = (Vec::new(), Vec::new());
        loop {
            let from = self.here();
            list.push(self.expression()?);
            places.push(from..self.last_end);
            if list.len() > LIST_MAX {
                return Err(SyntaxError {
                    line: self.current.line,
                    message: "function or expression too complex".into(),
                });
            }
            if !self.take(",")? {
                break;
            }
        }
        Ok((list, places))
    }

    pub(super) fn expression(&mut self) -> Read<Expr> {
        self.binary(0)
    }

    fn binary(&mut self, limit: u8) -> Read<Expr> {
        self.enter()?;
        let around = std::mem::take(&mut self.deep);
        let unary = match self.current.token {
            Token::Fixed("not") => Some(Unary::Not),
            Token::Fixed("-") => Some(Unary::Neg),
            Token::Fixed("#") => Some(Unary::Len),
            _ => None,
        };
        let mut left = match unary {
            Some(op) => {
                let from = self.here();
                self.advance()?;
                if op == Unary::Not {
                    let range = from..self.here();
                    self.note_at(range, || outline::What::Not);
                }
                let operand = self.binary(UNARY_PRIORITY)?;
                Expr::Unary(op, Box::new(operand), self.last_line)
            }
            None => self.simple()?,
        };
        while let Some((op, strength, right_strength)) = self.operator()
            && strength > limit
        {
            let from = self.here();
            let sign = self.advance()?.token;
            if let Token::Fixed(sign) = sign {
                self.note(from, || outline::What::Operator(sign));
            }
            let right = Box::new(self.binary(right_strength)?);
            self.deepen()?;
            let first = Box::new(left);
            // Lua's own idea of where an operation stands: at its end.
            let line = self.last_line;
            left = match op {
                Operator::And => Expr::And(first, right),
                Operator::Or => Expr::Or(first, right),
                Operator::Value(op) => Expr::Binary(op, first, right, line),
            };
        }
        self.deep = self.deep.max(around);
        self.nested -= 1;
        Ok(left)
    }

    fn operator(&self) -> Option<(Operator, u8, u8)> {
        let Token::Fixed(text) = self.current.token else {
            return None;
        };
        let value = |op, left, right| Some((Operator::Value(op), left, right));
        match text {
            "+" => value(Binary::Add, 6, 6),
            "-" => value(Binary::Sub, 6, 6),
            "*" => value(Binary::Mul, 7, 7),
            "/" => value(Binary::Div, 7, 7),
            "%" => value(Binary::Mod, 7, 7),
            "^" => value(Binary::Pow, 10, 9),
            ".." => value(Binary::Concat, 5, 4),
            "==" => value(Binary::Eq, 3, 3),
            "~=" => value(Binary::Ne, 3, 3),
            "<" => value(Binary::Lt, 3, 3),
            "<=" => value(Binary::Le, 3, 3),
            ">" => value(Binary::Gt, 3, 3),
            ">=" => value(Binary::Ge, 3, 3),
            "and" => Some((Operator::And, 2, 2)),
            "or" => Some((Operator::Or, 1, 1)),
            _ => None,
        }
    }

    fn simple(&mut self) -> Read<Expr> {
        let line = self.current.line;
        if self.is("...") {
            if !self.scope().vararg {
                return Err(self.error("cannot use '...' outside a vararg function"));
            }
            self.scope_mut().dots = true;
            self.advance()?;
            return Ok(Expr::Vararg);
        }
        let expr = match &self.current.token {
            Token::Number(value) => Expr::Number(*value),
            Token::Text(text) => Expr::Text(text.clone()),
            Token::Fixed("nil") => Expr::Nil,
            Token::Fixed("true") => Expr::True,
            Token::Fixed("false") => Expr::False,
            Token::Fixed("{") => return self.table(),
            Token::Fixed("function") => {
                self.advance()?;
                return Ok(Expr::Function(Box::new(self.function_body(false, line)?)));
            }
            _ => return self.primary(),
        };
        let from = self.here();
        let read = self.advance()?.token;
        self.note(from, || match read {
            Token::Number(value) => outline::What::Number(value),
            Token::Fixed(word) => outline::What::Word(word),
            Token::Text(text) => outline::What::Text(text),
            // Neither is a value that stands alone.
            Token::Name(_) | Token::End => outline::What::Text(Vec::new()),
        });
        Ok(expr)
    }

    /// A name or something in parentheses, with what follows it.
    pub(super) fn primary(&mut self) -> Read<Expr> {
        let around = std::mem::take(&mut self.deep);
        let line = self.current.line;
        let from = self.here();
        let mut expr = if self.take("(")? {
            let inner = self.expression()?;
            self.close(")", "(", line)?;
            Expr::Paren(Box::new(inner))
        } else if matches!(self.current.token, Token::Name(_)) {
            let name = self.name()?;
            self.resolve(&name)?
        } else {
            return Err(self.error("unexpected symbol"));
        };
        loop {
            let line = self.current.line;
            let is_variable = matches!(expr, Expr::Local(_) | Expr::Up(_) | Expr::Global(_));
            let callee = from..self.last_end;
            if self.take(".")? {
                let at = self.current.line;
                let field = Expr::Text(self.name()?.into_bytes());
                if is_variable {
                    self.note(from, || outline::What::Field);
                }
                expr = Expr::Index(Box::new(expr), Box::new(field), at);
            } else if self.take("[")? {
                let key = self.expression()?;
                self.expect("]")?;
                if let (Expr::Global(name), Expr::Number(number)) = (&expr, &key) {
                    let (name, number) = (name.clone(), *number);
                    self.note(from, || outline::What::Element { name, number });
                }
                expr = Expr::Index(Box::new(expr), Box::new(key), self.last_line);
            } else if self.take(":")? {
                let name = self.name()?;
                let line = self.current.line;
                let (arguments, _) = self.arguments()?;
                expr = Expr::Method(Box::new(expr), name, arguments, line);
            } else if self.is("(") || self.is("{") || matches!(self.current.token, Token::Text(_)) {
                let (arguments, places) = self.arguments()?;
                self.note(from, || outline::What::Call {
                    callee,
                    arguments: places,
                });
                expr = Expr::Call(Box::new(expr), arguments, line);
            } else {
                self.deep = self.deep.max(around);
                return Ok(expr);
            }
            self.deepen()?;
        }
    }

    /// With the place of each.
    fn arguments(&mut self) -> Read<(Vec<Expr>, Vec<Range<usize>>)> {
        let line = self.current.line;
        let from = self.here();
        if let Token::Text(text) = &self.current.token {
            let text = text.clone();
            self.advance()?;
            self.note(from, || outline::What::Text(text.clone()));
            let range = from..self.last_end;
            return Ok((vec![Expr::Text(text)], vec![range]));
        }
        if self.is("{") {
            let table = self.table()?;
            let range = from..self.last_end;
            return Ok((vec![table], vec![range]));
        }
        if !self.is("(") {
            return Err(self.error("function arguments expected"));
        }
        if line != self.last_line {
            return Err(self.error("ambiguous syntax (function call x new statement)"));
        }
        self.advance()?;
        let list = match self.is(")") {
            true => (Vec::new(), Vec::new()),
            false => self.listed()?,
        };
        self.close(")", "(", line)?;
        Ok(list)
    }

    fn table(&mut self) -> Read<Expr> {
        let line = self.current.line;
        let from = self.here();
        self.expect("{")?;
        let mut entries = Vec::new();
        let mut places = Vec::new();
        while !self.is("}") {
            let from = self.here();
            entries.push(self.entry()?);
            places.push(from..self.last_end);
            if !(self.take(",")? || self.take(";")?) {
                break;
            }
        }
        self.close("}", "{", line)?;
        if entries.iter().all(|(key, _)| key.is_none()) {
            self.note(from, || outline::What::List(places));
        }
        Ok(Expr::Table(entries, line))
    }

    fn entry(&mut self) -> Read<(Option<Expr>, Expr)> {
        if self.take("[")? {
            let key = self.expression()?;
            self.expect("]")?;
            self.expect("=")?;
            return Ok((Some(key), self.expression()?));
        }
        if matches!(self.current.token, Token::Name(_)) {
            if self.ahead.is_none() {
                self.ahead = Some(self.lexer.next()?);
            }
            let assigns = matches!(&self.ahead, Some(lexeme) if lexeme.token == Token::Fixed("="));
            if assigns {
                let name = self.name()?;
                self.advance()?;
                return Ok((Some(Expr::Text(name.into_bytes())), self.expression()?));
            }
        }
        Ok((None, self.expression()?))
    }
}

const UNARY_PRIORITY: u8 = 8;

#[derive(Clone, Copy)]
enum Operator {
    And,
    Or,
    Value(Binary),
}
