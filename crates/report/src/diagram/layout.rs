//! Where things stand: rows for steps, lanes for clients and nodes, the spans
//! that bars and bands cover, and the way of each message.

use std::collections::BTreeMap;

use lockproof_trace::{ClientView, Event, FaultEvent, Lane, Trace};

/// Left of the lanes: tick labels and step numbers.
pub const GUTTER: i32 = 118;
/// Distance of client lanes; a label of some 26 characters fits between two.
pub const CLIENT_LANE: i32 = 200;
/// Distance of node lanes; their labels are short.
pub const NODE_LANE: i32 = 124;
/// Height of the lane heads, at the top and at the bottom.
pub const HEAD: i32 = 44;
const ROW: i32 = 32;
const TICK_ROW: i32 = 22;
/// Height of one line of the banner under a violation.
pub const BANNER: i32 = 20;
const LEGEND: i32 = 30;

/// Rows and lanes of a trace.
pub struct Layout {
    /// Centre of each step's row.
    pub y: Vec<i32>,
    /// Height of each step's row.
    pub heights: Vec<i32>,
    pub clients: i32,
    pub nodes: i32,
    /// Where the lanes end.
    pub bottom: i32,
    pub width: i32,
    pub height: i32,
}

impl Layout {
    pub fn new(trace: &Trace) -> Layout {
        let clients = i32::from(trace.setup.clients);
        let nodes = i32::from(trace.setup.nodes);
        let mut y = Vec::new();
        let mut heights = Vec::new();
        let mut top = HEAD + 8;
        for step in &trace.steps {
            let height = match step.event {
                Event::Tick => TICK_ROW,
                _ => ROW,
            };
            y.push(top + height / 2);
            heights.push(height);
            top += height + BANNER * step.violates.len() as i32;
        }
        let bottom = top + 8;
        Layout {
            y,
            heights,
            clients,
            nodes,
            bottom,
            width: GUTTER + clients * CLIENT_LANE + nodes * NODE_LANE + 36,
            height: bottom + HEAD + LEGEND,
        }
    }

    pub fn lane_x(&self, lane: Lane) -> i32 {
        match lane {
            Lane::Client(client) => self.client_x(client),
            Lane::Node(node) => self.node_x(node),
        }
    }

    pub fn client_x(&self, client: u8) -> i32 {
        GUTTER + 26 + i32::from(client) * CLIENT_LANE
    }

    pub fn node_x(&self, node: u8) -> i32 {
        GUTTER + 26 + self.clients * CLIENT_LANE + i32::from(node) * NODE_LANE
    }

    /// The end of a lost message's arrow: a bit more than half of its way, but
    /// not upon a lane, where its cross would look like that lane's own crash.
    pub fn lost_x(&self, from: i32, to: i32) -> i32 {
        let x = from + (to - from) * 3 / 5;
        let lanes = (0..self.clients)
            .map(|c| self.client_x(c as u8))
            .chain((0..self.nodes).map(|n| self.node_x(n as u8)));
        match lanes.into_iter().find(|lane| (lane - x).abs() < 24) {
            Some(lane) => lane - 40 * (to - from).signum(),
            None => x,
        }
    }
}

/// Where a message's request or reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It arrives in this step.
    Arrives(usize),
    /// It arrives in this step, but nobody waits for it any more.
    Ignored(usize),
    /// It is lost in this step.
    Lost(usize),
    /// The trace ends first.
    Open,
}

/// A message's way.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub client: u8,
    pub node: u8,
    pub sent: usize,
    pub request: Arrival,
    /// From the step that executed it.
    pub reply: Option<(usize, Arrival)>,
}

impl Flight {
    fn lose(&mut self, step: usize) {
        match &mut self.reply {
            Some((_, end @ Arrival::Open)) => *end = Arrival::Lost(step),
            None if self.request == Arrival::Open => self.request = Arrival::Lost(step),
            _ => {}
        }
    }
}

/// All messages, in the order in which they were sent.
pub fn flights(trace: &Trace) -> Vec<Flight> {
    let mut found: Vec<Flight> = Vec::new();
    let mut by_id: BTreeMap<u32, usize> = BTreeMap::new();
    for (i, step) in trace.steps.iter().enumerate() {
        if let Event::Send {
            client,
            node,
            message,
            ..
        } = step.event
        {
            by_id.insert(message, found.len());
            found.push(Flight {
                client,
                node,
                sent: i,
                request: Arrival::Open,
                reply: None,
            });
            continue;
        }
        if let Event::Publish {
            client,
            node,
            message,
            ..
        } = step.event
        {
            by_id.insert(message, found.len());
            found.push(Flight {
                client,
                node,
                sent: i,
                request: Arrival::Arrives(i),
                reply: Some((i, Arrival::Open)),
            });
            continue;
        }
        let message = match &step.event {
            Event::Execute { message, .. }
            | Event::Deliver { message, .. }
            | Event::Fail { message, .. }
            | Event::Fault {
                fault: FaultEvent::Lose { message, .. },
            } => message,
            _ => continue,
        };
        let Some(flight) = by_id.get(message).map(|index| &mut found[*index]) else {
            continue;
        };
        match step.event {
            Event::Execute { .. } => {
                flight.request = Arrival::Arrives(i);
                flight.reply = Some((i, Arrival::Open));
            }
            Event::Deliver { ignored, .. } => {
                if let Some((_, end)) = &mut flight.reply {
                    *end = if ignored {
                        Arrival::Ignored(i)
                    } else {
                        Arrival::Arrives(i)
                    };
                }
            }
            // A request that failed as unknown may still be executed later; then
            // `Execute` overwrites this.
            _ => flight.lose(i),
        }
    }
    found
}

/// The step ranges in which `holds` is true of a client's view, as (first step
/// after which it holds, first step after which it does not, or none).
pub fn spans(
    trace: &Trace,
    client: usize,
    holds: impl Fn(&ClientView) -> bool,
) -> Vec<(usize, Option<usize>)> {
    let mut found: Vec<(usize, Option<usize>)> = Vec::new();
    let mut open = false;
    for (i, step) in trace.steps.iter().enumerate() {
        let now = step.clients.get(client).is_some_and(&holds);
        match (open, now) {
            (false, true) => found.push((i, None)),
            (true, false) => {
                if let Some(last) = found.last_mut() {
                    last.1 = Some(i);
                }
            }
            _ => {}
        }
        open = now;
    }
    found
}

/// The step ranges between a beginning and an end event.
pub fn between(
    trace: &Trace,
    begins: impl Fn(&Event) -> bool,
    ends: impl Fn(&Event) -> bool,
) -> Vec<(usize, Option<usize>)> {
    let mut found: Vec<(usize, Option<usize>)> = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        match found.last_mut() {
            Some((_, end @ None)) => *end = ends(&step.event).then_some(i),
            _ if begins(&step.event) => found.push((i, None)),
            _ => {}
        }
    }
    found
}
