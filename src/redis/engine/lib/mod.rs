//! The libraries that Redis adds to Lua.

pub(super) mod bit;
pub(super) mod cjson;
pub(super) mod cmsgpack;
pub(super) mod structs;

use crate::lua::{RefusalKind, Stop, Vm};

/// Packing a name writes down its length.
fn measured(vm: &Vm<'_>) -> Stop {
    vm.refuse(
        RefusalKind::Names,
        "packs a token, an owner or a time, which depends on its length",
    )
}
