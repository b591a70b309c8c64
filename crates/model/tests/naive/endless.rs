//! Endless runs on which somebody starves, found in a graph of naive states.
//!
//! The states are those of the search. What makes them infinitely many is taken out: times
//! are counted from now on, and a new token is the first that nobody has by now. Locks
//! that keep times or numbers that grow have no such graph, and are left out. Fair runs are
//! a greatest fixpoint (Emerson & Lei 1986): whoever is in it can reach each thing that a
//! fair run does again and again, and stay in it.

use std::collections::HashMap;
use std::sync::Arc;

use lockproof_model::lock::{Mode, Op, Phase};
use lockproof_redis::ScriptEngine;

use crate::moves::{Action, Move};
use crate::search::successors;
use crate::step::{Step, Stuck, call_with};
use crate::world::{Cut, Ghost, Setup, State};

/// What a fair run does again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    TimePasses,
    NobodyHoldsForEver,
    TheClientTries,
}

pub const DEMANDS: [Demand; 3] = [
    Demand::TimePasses,
    Demand::NobodyHoldsForEver,
    Demand::TheClientTries,
];

struct Edge {
    to: usize,
    ticks: bool,
}

/// All states that can be reached, and what can happen in them without a further fault.
pub struct Graph {
    states: Vec<State>,
    edges: Vec<Vec<Edge>>,
    /// Fewest moves from the start.
    depths: Vec<usize>,
}

impl Graph {
    /// `None` if there are more states than that, or something can not be told.
    pub fn of(setup: &Setup, states_max: usize) -> Option<Graph> {
        let mut engine = ScriptEngine::new().expect("a script engine");
        let start = normal(setup, State::start(setup).ok()?);
        let mut numbers = HashMap::from([(start.print(), 0)]);
        let mut graph = Graph {
            states: vec![start],
            edges: Vec::new(),
            depths: vec![0],
        };
        let mut lost = false;
        while graph.edges.len() < graph.states.len() {
            let at = graph.edges.len();
            let state = graph.states[at].clone();
            let mut edges = Vec::new();
            successors(setup, &mut engine, &state, |_, action, step| {
                let Some(next) = after(setup, &state, action, step) else {
                    lost |= !matches!(action.step, Move::Write { .. });
                    return;
                };
                let fault = next.budget != state.budget;
                let fresh = graph.states.len();
                let to = *numbers.entry(next.print()).or_insert(fresh);
                if to == fresh {
                    graph.depths.push(graph.depths[at] + 1);
                    graph.states.push(next);
                }
                if !fault {
                    let ticks = action.step == Move::Tick;
                    edges.push(Edge { to, ticks });
                }
            });
            graph.edges.push(edges);
            if lost || graph.states.len() > states_max {
                return None;
            }
        }
        Some(graph)
    }

    /// Fewest moves to a state to which a run comes back again and again that does all of
    /// `demands`, while somebody tries in vain; `None` if everybody gets it at last.
    pub fn starves(&self, setup: &Setup, demands: &[Demand]) -> Option<usize> {
        let ops = setup.file.operations().iter().copied();
        let modes: Vec<Mode> = ops.filter_map(Op::mode).collect();
        let pursuits =
            (0..setup.clients).flat_map(|client| modes.iter().map(move |m| (client, *m)));
        let stems = pursuits.filter_map(|(client, mode)| {
            let inside = self
                .states
                .iter()
                .map(|state| tries(setup, state, client, mode));
            self.stem(inside.collect(), client, demands, setup.clients)
        });
        stems.min()
    }

    fn stem(
        &self,
        inside: Vec<bool>,
        client: usize,
        demands: &[Demand],
        clients: usize,
    ) -> Option<usize> {
        let back = self.back();
        let hull = self.hull(inside, &back, client, demands, clients);
        let mut open = hull;
        // States are numbered by their depth.
        for at in 0..self.states.len() {
            if !open[at] {
                continue;
            }
            let forth = self.reached(vec![at], &open, |s| {
                self.edges[s].iter().map(|edge| edge.to).collect()
            });
            let to = self.reached(vec![at], &open, |s| back[s].clone());
            let both: Vec<bool> = (0..open.len()).map(|s| forth[s] && to[s]).collect();
            let hull = self.hull(both.clone(), &back, client, demands, clients);
            if hull[at] {
                return Some(self.depths[at]);
            }
            (0..open.len()).for_each(|s| open[s] &= !both[s]);
        }
        None
    }

    /// From where a run can stay inside for ever and do all that is demanded.
    fn hull(
        &self,
        mut inside: Vec<bool>,
        back: &[Vec<usize>],
        client: usize,
        demands: &[Demand],
        clients: usize,
    ) -> Vec<bool> {
        loop {
            let before = inside.iter().filter(|is| **is).count();
            for demand in demands {
                let whose = match demand {
                    Demand::NobodyHoldsForEver => 0..clients,
                    Demand::TimePasses | Demand::TheClientTries => client..client + 1,
                };
                for who in whose {
                    let meets = |s: &usize| inside[*s] && self.meets(*s, *demand, who, &inside);
                    let met = (0..inside.len()).filter(meets).collect();
                    inside = self.reached(met, &inside, |s| back[s].clone());
                }
            }
            // Whoever stays inside has somewhere to go.
            let stays = |s: usize| self.edges[s].iter().any(|edge| inside[edge.to]);
            inside = (0..inside.len()).map(|s| inside[s] && stays(s)).collect();
            if inside.iter().filter(|is| **is).count() == before {
                return inside;
            }
        }
    }

    fn meets(&self, at: usize, demand: Demand, who: usize, inside: &[bool]) -> bool {
        let phase = || self.states[at].clients[who].program.view().phase;
        match demand {
            Demand::TimePasses => {
                let mut edges = self.edges[at].iter();
                edges.any(|edge| edge.ticks && inside[edge.to])
            }
            Demand::NobodyHoldsForEver => !self.states[at].believes(who),
            Demand::TheClientTries => phase() == Phase::Acquiring,
        }
    }

    fn back(&self) -> Vec<Vec<usize>> {
        let mut back = vec![Vec::new(); self.states.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|edge| back[edge.to].push(from));
        }
        back
    }

    fn reached(
        &self,
        from: Vec<usize>,
        inside: &[bool],
        next: impl Fn(usize) -> Vec<usize>,
    ) -> Vec<bool> {
        let mut seen = vec![false; inside.len()];
        let mut open = from;
        open.iter().for_each(|s| seen[*s] = true);
        while let Some(s) = open.pop() {
            for to in next(s) {
                if inside[to] && !seen[to] {
                    seen[to] = true;
                    open.push(to);
                }
            }
        }
        seen
    }
}

/// The client is idle or tries, and its links to a majority are whole.
fn tries(setup: &Setup, state: &State, client: usize, mode: Mode) -> bool {
    let one = &state.clients[client];
    let view = one.program.view();
    let idle = view.phase == Phase::Idle || view.phase == Phase::Acquiring && view.mode == mode;
    let links = &state.cut[client * setup.nodes()..][..setup.nodes()];
    let whole = links.iter().filter(|cut| **cut == Cut::Open).count();
    !one.ghost.crashed && view.holds == 0 && idle && whole >= setup.quorum()
}

/// The next state; `None` if it is none that counts here, or nothing can be told of it.
fn after(
    setup: &Setup,
    before: &State,
    action: Action,
    step: Result<Step<'_>, Stuck>,
) -> Option<State> {
    let step = match action.step {
        Move::Write { .. } => return None,
        Move::Call { client, op } if op.mode().is_some() && !before.believes(client) => {
            let token = free_token(before, client);
            call_with(setup, before, (client, op), Some(token), action.held)
        }
        _ => step,
    };
    Some(normal(setup, step.ok()?.state))
}

/// The first token that nothing and nobody has.
fn free_token(state: &State, client: usize) -> String {
    let told = |bytes: &[u8]| {
        let told = format!("{bytes:?}");
        told.trim_matches(['[', ']']).to_owned()
    };
    let mut texts: Vec<String> = Vec::new();
    for one in &state.clients {
        texts.push(format!("{:?}", one.program.key()));
    }
    for node in &state.nodes {
        let stores = std::iter::once(&node.store).chain(&node.behind);
        for (key, value, _) in stores.flat_map(|store| store.server.entries()) {
            texts.push(format!("{key:?}{value:?}"));
        }
    }
    texts.extend(state.messages.iter().map(|one| format!("{:?}", one.cargo)));
    let tokens = (0..).map(|number| format!("token-{client}-{number}-"));
    let used = |token: &String| {
        let bytes = told(token.as_bytes());
        texts
            .iter()
            .any(|text| text.contains(&bytes) || text.contains(token))
    };
    let mut free = tokens.skip_while(used);
    free.next().expect("tokens without end")
}

/// The state as it matters for what comes: all times from now on.
fn normal(setup: &Setup, mut state: State) -> State {
    let epoch_ms = setup.texts.epoch_ms();
    state.tick = 0;
    state.counter = 0;
    state.fences = (None, None);
    state.freed = false;
    state.next_id = state
        .messages
        .iter()
        .map(|one| one.id + 1)
        .max()
        .unwrap_or(1);
    for client in 0..setup.clients {
        state.ghost(client, |ghost| {
            // How long it holds the lock by now matters for when its work ends.
            let since = ghost
                .leased
                .map(|at| (at - ghost.ticks).max(-setup.ttl_ticks));
            *ghost = Ghost {
                crashed: ghost.crashed,
                paused: ghost.paused,
                offset_ms: ghost.offset_ms,
                overrun: ghost.overrun,
                late: ghost.late,
                leased: since,
                ..Ghost::default()
            };
        });
        let held = state.clients[client].program.view().holds > 0;
        if !held {
            state.ghost(client, |ghost| ghost.leased = None);
        }
    }
    for node in &mut state.nodes {
        let node = Arc::make_mut(node);
        for store in std::iter::once(&mut node.store).chain(&mut node.behind) {
            let server = &mut store.server;
            let entries: Vec<_> = server
                .entries()
                .map(|(key, value, end)| (key.clone(), value.clone(), end))
                .map(|(key, value, end)| (key, value, end.map(|end| server.life(end))))
                .collect();
            server.clear();
            // None of the locks that are asked sends EVALSHA.
            server.forget_scripts();
            server.set_clock(epoch_ms);
            for (key, value, life) in entries {
                let end = life.map(|life| server.end_of(life));
                server.insert(key, value, end);
            }
            store.owners = Default::default();
        }
        node.seal();
    }
    state
}
