//! Clients that go on for ever while no time passes.
//!
//! Time stands still while somebody has to act. A client that polls without a
//! pause always has to, and then no time would ever pass, which is not how clocks
//! work. So where a client's automaton can come back to where it is without a tick,
//! the threads on that way *spin*, and the world lets time pass over them.

use super::client::{Emitted, Symbolic};
use super::closure::Closure;

/// For each class the threads (bit set) that spin there.
pub(super) fn spinning(closure: &Closure, class_of: &[u16], representatives: &[u32]) -> Vec<u8> {
    let edges: Vec<Vec<(u8, usize)>> = representatives
        .iter()
        .map(|id| {
            let next = closure.locals[*id as usize].next.iter();
            let edge = |(input, (emitted, target)): (&Symbolic, &(Emitted, u32))| {
                if emitted.poison != 0 {
                    return None;
                }
                Some((thread(*input)?, usize::from(class_of[*target as usize])))
            };
            next.filter_map(edge).collect()
        })
        .collect();
    let component = components(&edges);
    let mut spins = vec![0u8; edges.len()];
    for (class, edges) in edges.iter().enumerate() {
        for (thread, target) in edges {
            if component[class] == component[*target] {
                spins[component[class]] |= 1 << thread;
            }
        }
    }
    component.iter().map(|root| spins[*root]).collect()
}

/// Whose step an input is, if no time passes with it.
fn thread(input: Symbolic) -> Option<u8> {
    match input {
        Symbolic::Wake(thread)
        | Symbolic::Choose { thread, .. }
        | Symbolic::Fail { thread, .. }
        | Symbolic::Reply { thread, .. } => Some(thread),
        Symbolic::Call(_) | Symbolic::Advance(_) | Symbolic::Skew(_) => None,
    }
}

/// The strongly connected component of each vertex, named by one of its vertices
/// (Tarjan 1972, with a stack of its own).
fn components(edges: &[Vec<(u8, usize)>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let mut index = vec![NEW; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut component = vec![NEW; edges.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut count = 0;
    for root in 0..edges.len() {
        if index[root] != NEW {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((vertex, at)) = path.pop() {
            if at == 0 {
                index[vertex] = count;
                low[vertex] = count;
                count += 1;
                open.push(vertex);
            }
            match edges[vertex].get(at) {
                Some(&(_, target)) => {
                    path.push((vertex, at + 1));
                    if index[target] == NEW {
                        path.push((target, 0));
                    } else if component[target] == NEW {
                        low[vertex] = low[vertex].min(index[target]);
                    }
                }
                None => {
                    if low[vertex] == index[vertex] {
                        while let Some(member) = open.pop() {
                            component[member] = vertex;
                            if member == vertex {
                                break;
                            }
                        }
                    }
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[vertex]);
                    }
                }
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_the_cycles() {
        // 0 -> 1 <-> 2, 2 -> 3, 3 -> 3.
        let edges = [
            vec![(0, 1)],
            vec![(0, 2)],
            vec![(0, 1), (0, 3)],
            vec![(0, 3)],
        ];
        let found = components(&edges);
        assert_eq!(found[1], found[2]);
        assert_ne!(found[0], found[1]);
        assert_ne!(found[3], found[1]);
    }
}
