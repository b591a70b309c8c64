//! Moore's minimisation of the client automaton.
//!
//! Two local states are one if no input word tells them apart by what the
//! world can see. Dead locals, the order in which votes came, and everything
//! else that a program remembers without using it disappear here; what is left
//! equals a hand-coded state machine of the same protocol.
//!
//! Here also is decided where an order that nobody promises matters: where a state
//! goes on differently for two replies that list the same in another order.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::client::{Emitted, Symbolic};
use super::closure::{Closure, ClosureError, Local};

/// The class of each local state, in the order of the states' numbers.
///
/// # Errors
/// If there are more classes than the tables can number.
pub fn classes(closure: &mut Closure) -> Result<Vec<u16>, ClosureError> {
    loop {
        let class = coarsest(&closure.locals);
        if class
            .iter()
            .max()
            .is_some_and(|most| *most >= u32::from(u16::MAX))
        {
            return Err(ClosureError::too_many_classes());
        }
        let class: Vec<u16> = class.into_iter().map(|class| class as u16).collect();
        let found = order_matters(closure, &class);
        if found.is_empty() {
            return Ok(class);
        }
        closure.poison_orders(&found);
    }
}

fn coarsest(locals: &[Local]) -> Vec<u32> {
    let mut class = first_partition(locals);
    let mut count = distinct(&class);
    loop {
        class = refine(locals, &class);
        let refined = distinct(&class);
        if refined == count {
            return class;
        }
        count = refined;
    }
}

fn distinct(class: &[u32]) -> usize {
    class.iter().max().map_or(0, |most| *most as usize + 1)
}

fn number<K: Eq + std::hash::Hash>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let mut index: FxHashMap<K, u32> = FxHashMap::default();
    keys.map(|key| {
        let next = index.len() as u32;
        *index.entry(key).or_insert(next)
    })
    .collect()
}

fn first_partition(locals: &[Local]) -> Vec<u32> {
    number(
        locals
            .iter()
            .map(|local| (local.facade.clone(), local.awaiting)),
    )
}

type Row<'a> = Vec<(Symbolic, &'a Emitted, u32)>;

fn refine(locals: &[Local], class: &[u32]) -> Vec<u32> {
    number(locals.iter().enumerate().map(|(id, local)| {
        let row: Row = local
            .next
            .iter()
            .map(|(input, (emitted, next))| (*input, emitted, class[*next as usize]))
            .collect();
        (class[id], row)
    }))
}

/// States (and inputs) that go on differently for the same reply in another order.
fn order_matters(closure: &Closure, class: &[u16]) -> Vec<(u32, Symbolic)> {
    let mut found = Vec::new();
    if closure.variants.is_empty() {
        return found;
    }
    for (id, local) in closure.locals.iter().enumerate() {
        for (input, (emitted, next)) in &local.next {
            let Symbolic::Reply { thread, reply } = *input else {
                continue;
            };
            for main in closure.mains(reply) {
                let main = Symbolic::Reply {
                    thread,
                    reply: main,
                };
                let Some((e, n)) = local.next.get(&main) else {
                    continue;
                };
                let same = e == emitted && class[*n as usize] == class[*next as usize];
                if !same && e.poison == 0 {
                    found.push((id as u32, main));
                }
            }
        }
    }
    found
}

/// One representative of each class, by class.
pub fn representatives(class: &[u16]) -> Vec<u32> {
    let mut first: BTreeMap<u16, u32> = BTreeMap::new();
    for (id, class) in class.iter().enumerate() {
        first.entry(*class).or_insert(id as u32);
    }
    first.into_values().collect()
}
