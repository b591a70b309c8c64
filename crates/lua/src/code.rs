//! What a Lua program is compiled to: instructions for a stack machine.
//!
//! A suspended function is then a number of an instruction and a few values, so
//! a suspended program can be copied, compared and continued, which is all that
//! a model checker wants of it. Each function has slots for its locals at the
//! bottom of its part of the stack, and intermediate results above.

use super::ast::Binary;
use super::text::Text;

/// A count that stands for "as many as there are".
pub(super) const MANY: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Nil,
    Bool(bool),
    Constant(u32),
    GetLocal(u16),
    SetLocal(u16),
    /// A local that functions inside share.
    GetCell(u16),
    SetCell(u16),
    /// The slot's value moves into a cell of its own.
    MakeCell(u16),
    GetUp(u16),
    SetUp(u16),
    GetGlobal(u32),
    SetGlobal(u32),
    /// table, key -> value
    Index,
    /// table, key, value ->
    SetIndex,
    /// The value on top goes to the table and key that lie so far below the top.
    SetIndexBelow(u16),
    /// table, key, value -> table
    SetEntry,
    /// object -> method, object
    Method(u32),
    Arithmetic(Binary),
    /// Joins so many texts.
    Concat(u16),
    Compare(Binary),
    Negate,
    Not,
    Length,
    Jump(u32),
    /// Takes the top away; jumps if it is true (or is not).
    JumpIf(bool, u32),
    /// Jumps with the top if it is true (or is not), else takes it away.
    JumpKeep(bool, u32),
    /// function, so many arguments (and as many more as there are, if `open`).
    Call {
        args: u16,
        open: bool,
        want: u16,
    },
    /// The values returned are the callee's.
    TailCall {
        args: u16,
        open: bool,
    },
    /// So many values, and as many more as there are if `open`.
    Return {
        count: u16,
        open: bool,
    },
    Vararg(u16),
    Function(u32),
    NewTable,
    /// table, a value -> table; or as many as there are, the first number `from`.
    SetList {
        from: u32,
        open: bool,
    },
    /// Checks the three values of a loop; jumps if it runs no round.
    ForPrepare {
        slot: u16,
        exit: u32,
    },
    /// Counts up; jumps back if there is another round.
    ForLoop {
        slot: u16,
        back: u32,
    },
    /// Takes so many values away.
    Pop(u16),
}

/// A named local and the instructions for which it is in sight.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub name: String,
    pub slot: u16,
    pub from: u32,
    pub to: u32,
}

/// What an operand is called in messages: "local", "global", .., and its name.
pub(super) type Called = Option<(&'static str, String)>;

/// One function.
#[derive(Debug, Default)]
pub(super) struct Proto {
    pub ops: Vec<Op>,
    /// The line of each instruction.
    pub lines: Vec<u32>,
    /// Names of operands, by instruction, in the instruction's order.
    pub called: Vec<(u32, Vec<Called>)>,
    pub constants: Vec<Constant>,
    /// Where the function's cells come from.
    pub ups: Vec<UpFrom>,
    pub up_names: Vec<String>,
    pub params: u16,
    pub vararg: bool,
    /// The slot behind the parameters gets a table of the extra arguments.
    pub arg: bool,
    /// Slots for locals.
    pub slots: u16,
    pub scopes: Vec<Scope>,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Number(f64),
    Text(Text),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpFrom {
    /// A slot of the function around it, which holds a cell.
    Slot(u16),
    Up(u16),
}

impl Proto {
    /// The names of an instruction's operands.
    pub fn called(&self, at: usize) -> &[Called] {
        let found = self
            .called
            .binary_search_by_key(&(at as u32), |(at, _)| *at);
        found.map_or(&[], |index| &self.called[index].1)
    }

    /// The locals in sight at an instruction.
    pub fn in_sight(&self, at: usize) -> impl Iterator<Item = &Scope> {
        let at = at as u32;
        self.scopes
            .iter()
            .filter(move |scope| scope.from <= at && at < scope.to)
    }
}

/// A compiled file: its functions, the whole file's last.
#[derive(Debug)]
pub struct Code {
    pub(super) protos: Vec<Proto>,
    /// What messages call the file.
    pub name: String,
}

impl Code {
    pub(super) fn main(&self) -> u32 {
        self.protos.len() as u32 - 1
    }

    /// Some function reads this global variable.
    pub fn reads_global(&self, name: &str) -> bool {
        self.protos.iter().any(|proto| {
            let reads = |op: &Op| match op {
                Op::GetGlobal(at) => {
                    matches!(&proto.constants[*at as usize], Constant::Text(text) if text.bytes() == name.as_bytes())
                }
                _ => false,
            };
            proto.ops.iter().any(reads)
        })
    }

    /// Some function of the program, the program itself aside, has this text in it.
    pub fn functions_name(&self, name: &str) -> bool {
        let functions = &self.protos[..self.protos.len().saturating_sub(1)];
        functions.iter().any(|proto| {
            let named = |constant: &Constant| matches!(constant, Constant::Text(text) if text.bytes() == name.as_bytes());
            proto.constants.iter().any(named)
        })
    }

    /// The lines of functions that are no lines of the file's own.
    pub fn function_lines(&self) -> Vec<u32> {
        let (functions, own) = self.protos.split_at(self.protos.len() - 1);
        let top = own.iter().flat_map(|proto| &proto.lines);
        let top: std::collections::BTreeSet<u32> = top.copied().collect();
        let all = functions.iter().flat_map(|proto| &proto.lines);
        let mut lines: Vec<u32> = all.copied().filter(|line| !top.contains(line)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Every line that has an instruction, once, in order.
    pub fn lines(&self) -> Vec<u32> {
        let all = self.protos.iter().flat_map(|proto| &proto.lines);
        let mut lines: Vec<u32> = all.copied().filter(|line| *line > 0).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}
