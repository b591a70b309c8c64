//! The libraries that Redis adds to Lua.

pub(super) mod bit;
pub(super) mod cjson;
pub(super) mod cmsgpack;
pub(super) mod structs;

use lockproof_lua::{RefusalKind, Stop, Vm, orders_of, permutation};

/// Packing a name writes down its length.
fn measured(vm: &Vm<'_>) -> Stop {
    vm.refuse(
        RefusalKind::Names,
        "packs a token, an owner or a time, which depends on its length",
    )
}

/// One of the orders in which Lua may go through a table of so many entries. That there
/// are others is noted; with too many of them to try the script is refused with `why`.
fn some_order(vm: &mut Vm<'_>, entries: usize, why: &str) -> Result<Vec<usize>, Stop> {
    if entries > 1 {
        let orders = orders_of(entries).ok_or_else(|| vm.refuse(RefusalKind::Order, why))?;
        vm.machine.orders = vm.machine.orders.max(orders);
    }
    Ok(permutation(entries, vm.machine.order))
}
