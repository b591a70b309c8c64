//! A Lua program as a tree, names resolved.

/// A function's text.
#[derive(Debug)]
pub(super) struct Function {
    /// The first of `locals` are its parameters.
    pub params: usize,
    pub vararg: bool,
    /// The local behind the parameters gets a table of the extra arguments.
    pub arg: bool,
    pub locals: Vec<Local>,
    /// Variables of the functions around it.
    pub ups: Vec<Up>,
    pub body: Block,
    /// The line of `function`; 0 for the whole file.
    pub line: u32,
    pub last_line: u32,
}

#[derive(Debug)]
pub(super) struct Local {
    pub name: String,
    /// A function inside uses it.
    pub captured: bool,
}

/// Where a function finds a variable of the one around it.
#[derive(Debug)]
pub(super) struct Up {
    pub name: String,
    pub from: UpFrom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpFrom {
    Local(usize),
    Up(usize),
}

pub(super) type Block = Vec<Statement>;

#[derive(Debug)]
pub(super) struct Statement {
    pub line: u32,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Local(Vec<usize>, Vec<Expr>),
    LocalFunction(usize, Box<Function>),
    /// With the line on which it ends.
    Assign(Vec<Expr>, Vec<Expr>, u32),
    Call(Expr),
    Do(Block),
    While(Expr, Block),
    /// The condition sees the block's locals.
    Repeat(Block, Expr),
    If(Vec<(Expr, Block)>, Option<Block>),
    For {
        local: usize,
        from: Expr,
        to: Expr,
        step: Option<Expr>,
        body: Block,
    },
    ForIn {
        locals: Vec<usize>,
        list: Vec<Expr>,
        body: Block,
    },
    Return(Vec<Expr>),
    Break,
}

#[derive(Debug)]
pub(super) enum Expr {
    Nil,
    True,
    False,
    Number(f64),
    Text(Vec<u8>),
    Vararg,
    Function(Box<Function>),
    Local(usize),
    Up(usize),
    Global(String),
    Index(Box<Expr>, Box<Expr>, u32),
    Call(Box<Expr>, Vec<Expr>, u32),
    Method(Box<Expr>, String, Vec<Expr>, u32),
    Binary(Binary, Box<Expr>, Box<Expr>, u32),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>, u32),
    /// Entries, each with its key unless it is positional.
    Table(Vec<(Option<Expr>, Expr)>, u32),
    /// In parentheses: one value.
    Paren(Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Concat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Neg,
    Not,
    Len,
}

impl Expr {
    /// It can give more or fewer values than one.
    pub fn is_multiple(&self) -> bool {
        matches!(self, Expr::Vararg | Expr::Call(..) | Expr::Method(..))
    }
}
