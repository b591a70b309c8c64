//! Moore's minimisation of the client automaton.
//!
//! Two local states are one if no input word tells them apart by what the
//! world can see. Dead locals, the order in which votes came, and everything
//! else that a program remembers without using it disappear here; what is left
//! equals a hand-coded state machine of the same protocol.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::client::{Emitted, Symbolic};
use super::closure::{Closure, ClosureError, Local};

/// The class of each local state, in the order of the states' numbers.
pub fn classes(closure: &Closure) -> Result<Vec<u16>, ClosureError> {
    let mut class = first_partition(&closure.locals);
    let mut count = distinct(&class);
    loop {
        class = refine(&closure.locals, &class);
        let refined = distinct(&class);
        if refined == count {
            break;
        }
        count = refined;
    }
    refuse_told_apart(closure, &class)?;
    Ok(class)
}

fn distinct(class: &[u16]) -> usize {
    class.iter().max().map_or(0, |most| usize::from(*most) + 1)
}

fn number<K: Eq + std::hash::Hash>(keys: impl Iterator<Item = K>) -> Vec<u16> {
    let mut index: FxHashMap<K, u16> = FxHashMap::default();
    keys.map(|key| {
        let next = index.len() as u16;
        *index.entry(key).or_insert(next)
    })
    .collect()
}

fn first_partition(locals: &[Local]) -> Vec<u16> {
    number(
        locals
            .iter()
            .map(|local| (local.facade.clone(), local.awaiting)),
    )
}

type Row<'a> = Vec<(Symbolic, &'a Emitted, u16)>;

fn refine(locals: &[Local], class: &[u16]) -> Vec<u16> {
    number(locals.iter().enumerate().map(|(id, local)| {
        let row: Row = local
            .next
            .iter()
            .map(|(input, (emitted, next))| (*input, emitted, class[*next as usize]))
            .collect();
        (class[id], row)
    }))
}

/// One symbol stands for every foreign token. That is sound only if no state
/// behaves differently on the symbol's twin.
fn refuse_told_apart(closure: &Closure, class: &[u16]) -> Result<(), ClosureError> {
    for local in &closure.locals {
        for (input, (emitted, next)) in &local.next {
            let Symbolic::Reply { thread, reply } = *input else {
                continue;
            };
            let Some(&original) = closure.twins.get(&reply) else {
                continue;
            };
            let same = local
                .next
                .get(&Symbolic::Reply {
                    thread,
                    reply: original,
                })
                .is_some_and(|(e, n)| e == emitted && class[*n as usize] == class[*next as usize]);
            if !same {
                return Err(ClosureError::TellsForeignersApart);
            }
        }
    }
    Ok(())
}

/// One representative of each class, by class.
pub fn representatives(class: &[u16]) -> Vec<u32> {
    let mut first: BTreeMap<u16, u32> = BTreeMap::new();
    for (id, class) in class.iter().enumerate() {
        first.entry(*class).or_insert(id as u32);
    }
    first.into_values().collect()
}
