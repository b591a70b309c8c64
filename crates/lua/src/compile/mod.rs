//! From the tree to instructions.

mod expressions;

use rustc_hash::FxHashMap;

use super::ast::{self, Binary, Block, Expr, Statement, Unary, What};
use super::code::{Called, Code, Constant, MANY, Op, Proto, Scope, UpFrom};
use super::lexer::SyntaxError;
use super::parser::parse;
use super::text::Text;
use expressions::called;

impl Code {
    /// Compiles a file; `name` stands in front of the line in its messages.
    ///
    /// # Errors
    /// The line and Lua's words for what is wrong there.
    pub fn compile(name: &str, source: &[u8]) -> Result<Code, SyntaxError> {
        let tree = parse(source)?;
        let mut protos = Vec::new();
        Function::compile(&tree, &mut protos);
        Ok(Code {
            protos,
            name: name.to_owned(),
        })
    }
}

/// Stands for a local that the text does not name.
const HIDDEN: usize = usize::MAX;

/// A function that is being compiled.
struct Function<'t, 'p> {
    tree: &'t ast::Function,
    protos: &'p mut Vec<Proto>,
    proto: Proto,
    /// The slot of each local that is in sight.
    slots: Vec<Option<u16>>,
    /// First free slot.
    free: u16,
    /// Jumps of `break`, for each loop around.
    breaks: Vec<Vec<usize>>,
    /// The scopes that are open, with the locals' numbers.
    open: Vec<(usize, usize)>,
    line: u32,
    /// Places of constants, by a number's bits (NaN is no literal) and by text.
    numbers: FxHashMap<u64, u32>,
    texts: FxHashMap<Vec<u8>, u32>,
}

impl<'t, 'p> Function<'t, 'p> {
    fn compile(tree: &'t ast::Function, protos: &'p mut Vec<Proto>) -> u32 {
        let mut function = Function {
            tree,
            protos,
            proto: Proto {
                params: tree.params as u16,
                vararg: tree.vararg,
                arg: tree.arg,
                line: tree.line,
                up_names: tree.ups.iter().map(|up| up.name.clone()).collect(),
                ..Proto::default()
            },
            slots: vec![None; tree.locals.len()],
            free: 0,
            breaks: Vec::new(),
            open: Vec::new(),
            line: tree.line,
            numbers: FxHashMap::default(),
            texts: FxHashMap::default(),
        };
        let extra = usize::from(tree.vararg && tree.line > 0);
        for local in 0..tree.params + extra {
            let slot = function.place(local);
            if tree.locals[local].captured {
                function.emit(Op::MakeCell(slot));
            }
        }
        function.block(&tree.body);
        function.line = tree.last_line;
        function.emit(Op::Return {
            count: 0,
            open: false,
        });
        function.end_scopes(0);
        let mut proto = function.proto;
        proto.called.sort_by_key(|(at, _)| *at);
        protos.push(proto);
        protos.len() as u32 - 1
    }

    fn emit(&mut self, op: Op) -> usize {
        self.proto.ops.push(op);
        self.proto.lines.push(self.line);
        self.proto.ops.len() - 1
    }

    fn emit_called(&mut self, op: Op, called: Vec<Called>) {
        let at = self.emit(op);
        self.proto.called.push((at as u32, called));
    }

    fn here(&self) -> u32 {
        self.proto.ops.len() as u32
    }

    /// Lets the jump at `at` lead here.
    fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.proto.ops[at] {
            Op::Jump(to) | Op::JumpIf(_, to) | Op::JumpKeep(_, to) => *to = here,
            Op::ForPrepare { exit, .. } => *exit = here,
            _ => {}
        }
    }

    fn constant(&mut self, constant: Constant) -> u32 {
        let next = self.proto.constants.len() as u32;
        let place = match &constant {
            // -0 is 0 here, as in the reference implementation: whichever comes first.
            Constant::Number(value) => self.numbers.entry((value + 0.0).to_bits()).or_insert(next),
            Constant::Text(text) => {
                let place = self.texts.entry(text.bytes().to_vec());
                place.or_insert(next)
            }
        };
        let place = *place;
        if place == next {
            self.proto.constants.push(constant);
        }
        place
    }

    fn text_constant(&mut self, text: &[u8]) -> u32 {
        self.constant(Constant::Text(Text::plain(text)))
    }

    // ---- locals ----

    fn take_slot(&mut self) -> u16 {
        let slot = self.free;
        self.free += 1;
        self.proto.slots = self.proto.slots.max(self.free);
        slot
    }

    /// Gives a local its slot; it is in sight from here on.
    fn place(&mut self, local: usize) -> u16 {
        let slot = self.take_slot();
        self.show(local, slot);
        slot
    }

    fn show(&mut self, local: usize, slot: u16) {
        self.slots[local] = Some(slot);
        let from = self.here();
        self.proto.scopes.push(Scope {
            name: self.tree.locals[local].name.clone(),
            slot,
            from,
            to: u32::MAX,
        });
        self.open.push((local, self.proto.scopes.len() - 1));
    }

    /// The values of a loop, which have no names a program could say.
    fn show_hidden(&mut self, names: [&str; 3], first: u16) {
        for (name, slot) in names.into_iter().zip(first..) {
            let from = self.here();
            self.proto.scopes.push(Scope {
                name: name.to_owned(),
                slot,
                from,
                to: u32::MAX,
            });
            self.open.push((HIDDEN, self.proto.scopes.len() - 1));
        }
    }

    fn end_scopes(&mut self, until: usize) {
        let here = self.here();
        for (local, scope) in self.open.drain(until..) {
            self.proto.scopes[scope].to = here;
            if local != HIDDEN {
                self.slots[local] = None;
            }
        }
    }

    /// Runs `inside` with a scope of its own.
    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        let (open, free) = (self.open.len(), self.free);
        inside(self);
        self.end_scopes(open);
        self.free = free;
    }

    fn slot(&self, local: usize) -> u16 {
        // The parser has resolved the name to a local in sight.
        self.slots[local].unwrap_or(0)
    }

    fn is_cell(&self, local: usize) -> bool {
        self.tree.locals[local].captured
    }

    /// The value on top becomes the local's first.
    fn bind(&mut self, local: usize, slot: u16) {
        self.emit(Op::SetLocal(slot));
        self.show(local, slot);
        if self.is_cell(local) {
            self.emit(Op::MakeCell(slot));
        }
    }

    // ---- statements ----

    fn block(&mut self, block: &'t Block) {
        self.scoped(|function| function.statements(block));
    }

    fn statements(&mut self, block: &'t Block) {
        for statement in block {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'t Statement) {
        self.line = statement.line;
        match &statement.what {
            What::Local(locals, values) => self.local(locals, values),
            What::LocalFunction(local, body) => {
                let slot = self.take_slot();
                self.emit(Op::Nil);
                self.bind(*local, slot);
                self.function(body);
                self.assign_local(*local);
            }
            What::Assign(targets, values, line) => self.assign(targets, values, *line),
            What::Call(call) => self.call(call, 0),
            What::Do(block) => self.block(block),
            What::While(condition, body) => {
                let start = self.here();
                let exit = self.jump_unless(condition);
                self.loop_body(body);
                self.emit(Op::Jump(start));
                self.land(exit);
                self.end_loop();
            }
            What::Repeat(body, condition) => {
                let start = self.here();
                self.breaks.push(Vec::new());
                self.scoped(|function| {
                    function.statements(body);
                    function.expression(condition);
                    function.emit(Op::JumpIf(false, start));
                });
                self.end_loop();
            }
            What::If(branches, otherwise) => self.branches(branches, otherwise.as_ref()),
            What::For {
                local,
                from,
                to,
                step,
                body,
            } => self.numeric_for(*local, [from, to], step.as_ref(), body),
            What::ForIn { locals, list, body } => self.generic_for(locals, list, body),
            What::Return(values) => self.give_back(values),
            What::Break => {
                let at = self.emit(Op::Jump(0));
                if let Some(jumps) = self.breaks.last_mut() {
                    jumps.push(at);
                }
            }
        }
    }

    fn loop_body(&mut self, body: &'t Block) {
        self.breaks.push(Vec::new());
        self.block(body);
    }

    fn end_loop(&mut self) {
        for at in self.breaks.pop().unwrap_or_default() {
            self.land(at);
        }
    }

    fn local(&mut self, locals: &[usize], values: &'t [Expr]) {
        self.values(values, locals.len() as u16);
        let first = self.free;
        for _ in locals {
            self.take_slot();
        }
        for (index, _) in locals.iter().enumerate().rev() {
            self.emit(Op::SetLocal(first + index as u16));
        }
        for (index, local) in locals.iter().enumerate() {
            let slot = first + index as u16;
            self.show(*local, slot);
            if self.is_cell(*local) {
                self.emit(Op::MakeCell(slot));
            }
        }
    }

    fn assign_local(&mut self, local: usize) {
        let slot = self.slot(local);
        self.emit(match self.is_cell(local) {
            true => Op::SetCell(slot),
            false => Op::SetLocal(slot),
        });
    }

    fn assign(&mut self, targets: &'t [Expr], values: &'t [Expr], line: u32) {
        if let [Expr::Index(table, key, _)] = targets {
            self.expression(table);
            self.expression(key);
            self.values(values, 1);
            self.line = line;
            self.emit_called(Op::SetIndex, vec![called(table, self.tree)]);
            return;
        }
        let mut below = 0;
        for target in targets {
            if let Expr::Index(table, key, _) = target {
                self.expression(table);
                self.expression(key);
                below += 2;
            }
        }
        self.values(values, targets.len() as u16);
        self.line = line;
        let mut lies = targets.len() as u16 + below;
        let pairs = below;
        for target in targets.iter().rev() {
            match target {
                Expr::Local(local) => self.assign_local(*local),
                Expr::Up(up) => {
                    self.emit(Op::SetUp(*up as u16));
                }
                Expr::Global(name) => {
                    let name = self.text_constant(name.as_bytes());
                    self.emit(Op::SetGlobal(name));
                }
                Expr::Index(table, ..) => {
                    below -= 2;
                    let op = Op::SetIndexBelow(lies - below);
                    self.emit_called(op, vec![called(table, self.tree)]);
                }
                _ => {}
            }
            lies -= 1;
        }
        if pairs > 0 {
            self.emit(Op::Pop(pairs));
        }
    }

    fn branches(&mut self, branches: &'t [(Expr, Block)], otherwise: Option<&'t Block>) {
        let mut ends = Vec::new();
        for (index, (condition, block)) in branches.iter().enumerate() {
            let next = self.jump_unless(condition);
            self.block(block);
            if index + 1 < branches.len() || otherwise.is_some() {
                ends.push(self.emit(Op::Jump(0)));
            }
            self.land(next);
        }
        if let Some(block) = otherwise {
            self.block(block);
        }
        for end in ends {
            self.land(end);
        }
    }

    fn numeric_for(
        &mut self,
        local: usize,
        range: [&'t Expr; 2],
        step: Option<&'t Expr>,
        body: &'t Block,
    ) {
        let line = self.line;
        for value in range {
            self.expression(value);
        }
        match step {
            Some(step) => self.expression(step),
            None => {
                let one = self.constant(Constant::Number(1.0));
                self.emit(Op::Constant(one));
            }
        }
        self.line = line;
        self.scoped(|function| {
            let slot = function.take_slot();
            function.take_slot();
            function.take_slot();
            for index in (0..3).rev() {
                function.emit(Op::SetLocal(slot + index));
            }
            let names = ["(for index)", "(for limit)", "(for step)"];
            function.show_hidden(names, slot);
            let variable = function.take_slot();
            let prepare = function.emit(Op::ForPrepare { slot, exit: 0 });
            let back = function.here();
            function.breaks.push(Vec::new());
            function.scoped(|function| {
                function.emit(Op::GetLocal(slot));
                function.bind(local, variable);
                function.statements(body);
            });
            function.line = line;
            function.emit(Op::ForLoop { slot, back });
            function.land(prepare);
            function.end_loop();
        });
    }

    fn generic_for(&mut self, locals: &'t [usize], list: &'t [Expr], body: &'t Block) {
        let line = self.line;
        self.values(list, 3);
        self.scoped(|function| {
            let state = function.take_slot();
            function.take_slot();
            function.take_slot();
            for index in (0..3).rev() {
                function.emit(Op::SetLocal(state + index));
            }
            let names = ["(for generator)", "(for state)", "(for control)"];
            function.show_hidden(names, state);
            let start = function.here();
            function.line = line;
            function.breaks.push(Vec::new());
            let mut exit = 0;
            function.scoped(|function| {
                for index in 0..3 {
                    function.emit(Op::GetLocal(state + index));
                }
                let iterator = Some(("local", "(for generator)".to_owned()));
                function.emit_called(
                    Op::Call {
                        args: 2,
                        open: false,
                        want: locals.len() as u16,
                    },
                    vec![iterator],
                );
                let first = function.free;
                for _ in locals {
                    function.take_slot();
                }
                for index in (0..locals.len() as u16).rev() {
                    function.emit(Op::SetLocal(first + index));
                }
                // The first value is the control variable, and ends the loop.
                function.emit(Op::GetLocal(first));
                function.emit(Op::SetLocal(state + 2));
                function.emit(Op::GetLocal(first));
                function.emit(Op::Nil);
                function.emit(Op::Compare(Binary::Eq));
                exit = function.emit(Op::JumpIf(true, 0));
                for (index, local) in locals.iter().enumerate() {
                    let slot = first + index as u16;
                    function.show(*local, slot);
                    if function.is_cell(*local) {
                        function.emit(Op::MakeCell(slot));
                    }
                }
                function.statements(body);
            });
            function.emit(Op::Jump(start));
            function.land(exit);
            function.end_loop();
        });
    }

    fn give_back(&mut self, values: &'t [Expr]) {
        if let [call @ (Expr::Call(..) | Expr::Method(..))] = values {
            self.call_with(call, |args, open| Op::TailCall { args, open });
            // What is no Lua function is called in place.
            self.emit(Op::Return {
                count: 0,
                open: true,
            });
            return;
        }
        let open = self.open_values(values);
        let count = (values.len() - usize::from(open)) as u16;
        self.emit(Op::Return { count, open });
    }
}
