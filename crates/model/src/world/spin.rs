//! Clients that go on for ever while no time passes.
//!
//! Time stands still while somebody has to act. A client that polls without a
//! pause always has to, and then no time would ever pass, which is not how clocks
//! work. So where a client's automaton can come back to where it is without a tick,
//! the threads on that way *spin*, and the world lets time pass over them: where a thread
//! waits for no time at all (`sleep(0)`), if its every round comes by such a place, and
//! anywhere otherwise.

use super::client::{Emitted, Symbolic, Wait};
use super::closure::Closure;

/// For each class the threads (bit set) that spin there.
pub(super) fn spinning(closure: &Closure, class_of: &[u16], representatives: &[u32]) -> Vec<u8> {
    let edges: Vec<Vec<Edge>> = representatives
        .iter()
        .map(|id| {
            let local = &closure.locals[*id as usize];
            let edge = |(input, (emitted, target)): (&Symbolic, &(Emitted, u32))| {
                if emitted.poison != 0 {
                    return None;
                }
                let thread = thread(*input)?;
                let rests = local.facade.threads[usize::from(thread)] == Wait::Ready;
                Some(Edge {
                    thread,
                    rests,
                    target: usize::from(class_of[*target as usize]),
                })
            };
            local.next.iter().filter_map(edge).collect()
        })
        .collect();
    let restless: Vec<Vec<Edge>> = edges
        .iter()
        .map(|edges| edges.iter().filter(|edge| !edge.rests).copied().collect())
        .collect();
    let (all, without_rest) = (on_cycles(&edges), on_cycles(&restless));
    let resting = edges.iter().map(|edges| {
        let rests = edges.iter().filter(|edge| edge.rests);
        rests.fold(0u8, |set, edge| set | 1 << edge.thread)
    });
    let sets = all.into_iter().zip(without_rest).zip(resting);
    sets.map(|((all, without_rest), resting)| without_rest | all & resting)
        .collect()
}

/// A step of a thread that takes no time.
#[derive(Clone, Copy)]
struct Edge {
    thread: u8,
    /// The thread stood where it waits for no time at all.
    rests: bool,
    target: usize,
}

/// For each vertex the threads (bit set) with a step on a way from it back to it.
fn on_cycles(edges: &[Vec<Edge>]) -> Vec<u8> {
    let component = components(edges);
    let mut spins = vec![0u8; edges.len()];
    for (class, edges) in edges.iter().enumerate() {
        for edge in edges {
            if component[class] == component[edge.target] {
                spins[component[class]] |= 1 << edge.thread;
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
        Symbolic::Call(_)
        | Symbolic::Advance(_)
        | Symbolic::Skew(_)
        | Symbolic::Message(_)
        | Symbolic::Exchange(_)
        | Symbolic::Cancel
        | Symbolic::Renumber(_) => None,
    }
}

/// The strongly connected component of each vertex, named by one of its vertices
/// (Tarjan 1972, with a stack of its own).
fn components(edges: &[Vec<Edge>]) -> Vec<usize> {
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
                Some(&Edge { target, .. }) => {
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

    /// One thread's steps; it rests at some vertices.
    fn graph(targets: &[&[usize]], resting: &[usize]) -> Vec<Vec<Edge>> {
        let edge = |from: usize, target: usize| Edge {
            thread: 0,
            rests: resting.contains(&from),
            target,
        };
        let vertices = targets.iter().enumerate();
        vertices
            .map(|(from, targets)| targets.iter().map(|target| edge(from, *target)).collect())
            .collect()
    }

    #[test]
    fn components_are_the_cycles() {
        // 0 -> 1 <-> 2, 2 -> 3, 3 -> 3.
        let edges = graph(&[&[1], &[2], &[1, 3], &[3]], &[]);
        let found = components(&edges);
        assert_eq!(found[1], found[2]);
        assert_ne!(found[0], found[1]);
        assert_ne!(found[3], found[1]);
    }
}
