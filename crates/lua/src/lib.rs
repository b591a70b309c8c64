//! A Lua 5.1 whose programs are plain data.
//!
//! Lock files and Redis scripts are Lua 5.1. In a model both need what stock Lua
//! does not offer: a suspended program that can be copied, compared and continued
//! thousands of times; tokens without letters and times without digits, so that
//! what is proved holds for every token and at every time; and a bound on work
//! and memory inside every function. So this is a Lua of its own, in safe Rust,
//! held to the reference implementation by `tests/differential/lua.rs` (the same
//! random programs on both) and to Redis's Lua by `tests/differential/redis.rs`.
//!
//! | file | what it is |
//! |---|---|
//! | `lexer`, `parser`, `ast`, `compile`, `code` | from the text to instructions |
//! | `value`, `heap`, `text` | values; memory as numbered lists; texts with symbols |
//! | `model`, `arith`, `compare`, `order`, `parts` | what may be learned of times, names, orders, and a server's TIME |
//! | `vm`, `ops` | the run |
//! | `machine` | a program's whole state: made, settled, written down |
//! | `fields` | where a text names a field, for messages |
//! | [`outline`] | where the parts of a program stand in its text |
//! | [`library`] | Lua's library |
//!
//! Rejected: stock Lua behind userdata types (`==` between a userdata and a number
//! cannot be seen, a suspended coroutine cannot be copied, and C functions run
//! without bounds), and a ready-made interpreter in Rust (none is 5.1, and none
//! copies suspended programs).

mod arith;
mod ast;
mod code;
mod compare;
mod compile;
mod error;
mod fields;
mod heap;
mod lexer;
pub mod library;
mod machine;
mod model;
pub mod number;
mod ops;
mod order;
pub mod outline;
mod parser;
mod parts;
pub mod text;
mod value;
mod vm;

pub use arith::{fence, fence_rank};
pub use code::Code;
pub use compare::{same_text, time_order};
pub use error::{Refusal, RefusalKind, Returned, Stop, VmResult};
pub use fields::field_line;
pub use heap::{Function, Heap, Key, Store, Table};
pub use lexer::SyntaxError;
pub use machine::{BUDGET, MEMORY, is_remembered};
pub use model::{Clocks, MOMENT_MS, Scale, Truth, mark, view};
pub use order::{count as orders_of, permutation};
pub use value::{
    Beyond, CellId, Clock, Duration, FunctionId, Moment, Native, Offset, Part, TableId, Time, Value,
};
pub use vm::{Flow, Host, Lines, Machine, NoHost, Pause, Thread, Vm};
