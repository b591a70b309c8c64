//! Expressions: values, calls, operators and tables.

use super::*;

impl<'t> Function<'t, '_> {
    /// Jumps away unless the condition holds; where to is filled in later.
    pub(super) fn jump_unless(&mut self, condition: &'t Expr) -> usize {
        self.expression(condition);
        self.emit(Op::JumpIf(false, 0))
    }

    /// Exactly `want` values of a list.
    pub(super) fn values(&mut self, list: &'t [Expr], want: u16) {
        let count = list.len() as u16;
        for (index, value) in list.iter().enumerate() {
            let index = index as u16;
            let last = index + 1 == count;
            if last && value.is_multiple() && index < want {
                self.multiple(value, want - index);
                return;
            }
            self.expression(value);
            if index >= want {
                self.emit(Op::Pop(1));
            }
        }
        for _ in count..want {
            self.emit(Op::Nil);
        }
    }

    /// All values of a list; true if the last gives as many as there are.
    pub(super) fn open_values(&mut self, list: &'t [Expr]) -> bool {
        let Some((last, rest)) = list.split_last() else {
            return false;
        };
        for value in rest {
            self.expression(value);
        }
        if last.is_multiple() {
            self.multiple(last, MANY);
            return true;
        }
        self.expression(last);
        false
    }

    fn multiple(&mut self, value: &'t Expr, want: u16) {
        match value {
            Expr::Vararg => {
                self.emit(Op::Vararg(want));
            }
            call => self.call(call, want),
        }
    }

    pub(super) fn call(&mut self, call: &'t Expr, want: u16) {
        self.call_with(call, |args, open| Op::Call { args, open, want });
    }

    pub(super) fn call_with(&mut self, call: &'t Expr, op: impl FnOnce(u16, bool) -> Op) {
        let (extra, args, line, name) = match call {
            Expr::Call(function, args, line) => {
                self.expression(function);
                (0, args, *line, called(function, self.tree))
            }
            Expr::Method(object, name, args, line) => {
                self.expression(object);
                let constant = self.text_constant(name.as_bytes());
                self.line = *line;
                let object = called(object, self.tree);
                self.emit_called(Op::Method(constant), vec![object]);
                (1, args, *line, Some(("method", name.clone())))
            }
            _ => return,
        };
        let open = self.open_values(args);
        let count = (args.len() - usize::from(open)) as u16 + extra;
        self.line = line;
        self.emit_called(op(count, open), vec![name]);
    }

    pub(super) fn function(&mut self, tree: &'t ast::Function) {
        let mut ups = Vec::new();
        for up in &tree.ups {
            ups.push(match up.from {
                ast::UpFrom::Local(local) => UpFrom::Slot(self.slot(local)),
                ast::UpFrom::Up(up) => UpFrom::Up(up as u16),
            });
        }
        let index = Function::compile(tree, self.protos);
        self.protos[index as usize].ups = ups;
        self.emit(Op::Function(index));
    }

    pub(super) fn expression(&mut self, expr: &'t Expr) {
        match expr {
            Expr::Nil => {
                self.emit(Op::Nil);
            }
            Expr::True => {
                self.emit(Op::Bool(true));
            }
            Expr::False => {
                self.emit(Op::Bool(false));
            }
            Expr::Number(value) => {
                let constant = self.constant(Constant::Number(*value));
                self.emit(Op::Constant(constant));
            }
            Expr::Text(text) => {
                let constant = self.text_constant(text);
                self.emit(Op::Constant(constant));
            }
            Expr::Vararg => {
                self.emit(Op::Vararg(1));
            }
            Expr::Function(tree) => self.function(tree),
            Expr::Local(local) => {
                let slot = self.slot(*local);
                self.emit(match self.is_cell(*local) {
                    true => Op::GetCell(slot),
                    false => Op::GetLocal(slot),
                });
            }
            Expr::Up(up) => {
                self.emit(Op::GetUp(*up as u16));
            }
            Expr::Global(name) => {
                let name = self.text_constant(name.as_bytes());
                self.emit(Op::GetGlobal(name));
            }
            Expr::Index(table, key, line) => {
                self.expression(table);
                self.expression(key);
                self.line = *line;
                self.emit_called(Op::Index, vec![called(table, self.tree)]);
            }
            Expr::Call(..) | Expr::Method(..) => self.call(expr, 1),
            Expr::Binary(Binary::Concat, ..) => self.concat(expr),
            Expr::Binary(op, left, right, line) => self.binary(*op, left, right, *line),
            Expr::And(left, right) => self.either(false, left, right),
            Expr::Or(left, right) => self.either(true, left, right),
            // A constant, and -0 is the same one as a 0 that is there already.
            Expr::Unary(Unary::Neg, ..) if let Some(value) = folded(expr) => {
                let constant = self.constant(Constant::Number(value));
                self.emit(Op::Constant(constant));
            }
            Expr::Unary(op, operand, line) => {
                self.expression(operand);
                self.line = *line;
                let name = vec![called(operand, self.tree)];
                match op {
                    Unary::Not => {
                        self.emit(Op::Not);
                    }
                    Unary::Neg => self.emit_called(Op::Negate, name),
                    Unary::Len => self.emit_called(Op::Length, name),
                }
            }
            Expr::Table(entries, line) => self.table(entries, *line),
            Expr::Paren(inner) => self.expression(inner),
        }
    }

    fn either(&mut self, keep: bool, left: &'t Expr, right: &'t Expr) {
        self.expression(left);
        let jump = self.emit(Op::JumpKeep(keep, 0));
        self.expression(right);
        self.land(jump);
    }

    fn binary(&mut self, op: Binary, left: &'t Expr, right: &'t Expr, line: u32) {
        self.expression(left);
        self.expression(right);
        self.line = line;
        let names = || vec![called(left, self.tree), called(right, self.tree)];
        match op {
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                self.emit(Op::Compare(op));
            }
            _ => {
                let names = names();
                self.emit_called(Op::Arithmetic(op), names);
            }
        }
    }

    /// `a .. b .. c` joins once, from the right as Lua does.
    fn concat(&mut self, expr: &'t Expr) {
        let mut names = Vec::new();
        let mut at = expr;
        let mut line = self.line;
        while let Expr::Binary(Binary::Concat, left, right, here) = at {
            self.expression(left);
            names.push(called(left, self.tree));
            line = *here;
            at = right;
        }
        self.expression(at);
        names.push(called(at, self.tree));
        self.line = line;
        self.emit_called(Op::Concat(names.len() as u16), names);
    }

    fn table(&mut self, entries: &'t [(Option<Expr>, Expr)], line: u32) {
        self.emit(Op::NewTable);
        let mut from = 1;
        for (index, (key, value)) in entries.iter().enumerate() {
            match key {
                Some(key) => {
                    self.expression(key);
                    self.expression(value);
                    self.emit(Op::SetEntry);
                }
                None if index + 1 == entries.len() && value.is_multiple() => {
                    self.multiple(value, MANY);
                    self.emit(Op::SetList { from, open: true });
                }
                None => {
                    self.expression(value);
                    self.emit(Op::SetList { from, open: false });
                    from += 1;
                }
            }
        }
        self.line = self.line.max(line);
    }
}

/// What messages call the value of an expression.
pub(super) fn called(expr: &Expr, tree: &ast::Function) -> Called {
    Some(match expr {
        Expr::Local(local) => ("local", tree.locals[*local].name.clone()),
        Expr::Up(up) => ("upvalue", tree.ups[*up].name.clone()),
        Expr::Global(name) => ("global", name.clone()),
        Expr::Index(_, key, _) => match &**key {
            Expr::Text(text) => ("field", String::from_utf8_lossy(text).into_owned()),
            _ => ("field", "?".to_owned()),
        },
        Expr::Paren(inner) if !inner.is_multiple() => return called(inner, tree),
        // What a constant decides is decided when it is compiled.
        Expr::And(left, right) if is_constant(left, true) => return called(right, tree),
        Expr::Or(left, right) if is_constant(left, false) => return called(right, tree),
        _ => return None,
    })
}

fn is_constant(expr: &Expr, truth: bool) -> bool {
    match expr {
        Expr::Number(_) | Expr::Text(_) | Expr::True => truth,
        Expr::Nil | Expr::False => !truth,
        Expr::Paren(inner) => is_constant(inner, truth),
        expr => truth && folded(expr).is_some(),
    }
}

/// Numbers are negated when they are compiled.
fn folded(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Number(value) => Some(*value),
        Expr::Paren(inner) => folded(inner),
        Expr::Unary(Unary::Neg, inner, _) => folded(inner).map(|value| -value),
        _ => None,
    }
}
