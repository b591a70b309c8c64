//! What a step looks like on its lane: a mark and a label.

use std::fmt::Write;

use lockproof_trace::{Event, FaultEvent, Mark, Outcome, words};

use super::draw::{Canvas, GAP, colour, cross, put};
use super::escape;
use super::layout::{Arrival, GUTTER};

/// Characters of a label that fit beside a client's lane, and a node's.
const CLIENT_LABEL: usize = 26;
const NODE_LABEL: usize = 16;

/// How an operation's beginning, a message or a wake-up, and an operation's end
/// look on a client's lane.
enum Shape {
    Ring,
    Dot,
    Disc,
}

impl Canvas<'_> {
    pub(super) fn mark(&mut self, i: usize) {
        let step = &self.trace.steps[i];
        let y = self.layout.y[i];
        match &step.event {
            Event::Call { client, op, .. } => {
                self.client_mark(*client, y, Shape::Ring, 4, op);
            }
            Event::Wake {
                client, timed_out, ..
            } => {
                let text = if *timed_out { "time-out" } else { "wakes" };
                self.client_mark(*client, y, Shape::Dot, 4, text);
            }
            Event::Choose { client, value, .. } => {
                self.client_mark(*client, y, Shape::Dot, 4, &format!("draws {value}"));
            }
            Event::Send { client, argv, .. } => {
                self.client_mark(*client, y, Shape::Dot, -4, &words::command(argv));
            }
            Event::Deliver { client, reply, .. } => {
                self.client_mark(*client, y, Shape::Dot, 13, &words::reply(reply));
            }
            Event::Fail {
                client, definite, ..
            } => {
                let text = if *definite {
                    "error: refused"
                } else {
                    "error: unknown"
                };
                self.client_mark(*client, y, Shape::Dot, 4, text);
            }
            Event::Outcome {
                client, outcome, ..
            } => {
                self.client_mark(*client, y, Shape::Disc, 4, &outcome_short(outcome));
            }
            Event::Write { client, refused } => {
                let text = if *refused { "write refused" } else { "writes" };
                self.client_mark(*client, y, Shape::Dot, 4, text);
            }
            Event::Assertion { client, .. } => {
                self.client_mark(*client, y, Shape::Disc, 4, "not so");
            }
            Event::Execute { node, reply, .. } => {
                let x = self.layout.node_x(*node);
                let text = format!("= {}", words::reply(reply));
                put!(
                    self,
                    "<circle class=\"n dot\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
                );
                self.label(x + GAP, y + 4, "", &words::shorten(&text, NODE_LABEL));
            }
            Event::Publish { node, payload, .. } => {
                let x = self.layout.node_x(*node);
                let text = format!("publishes {}", words::printable(payload));
                put!(
                    self,
                    "<circle class=\"n dot\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
                );
                self.label(x + GAP, y + 4, "", &words::shorten(&text, NODE_LABEL));
            }
            event @ (Event::Block { node, .. } | Event::HangUp { node, .. }) => {
                let x = self.layout.node_x(*node);
                put!(
                    self,
                    "<circle class=\"n dot\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"
                );
                let waits = matches!(event, Event::Block { .. });
                let text = if waits { "waits" } else { "is forgotten" };
                self.label(x + GAP, y + 4, "", text);
            }
            Event::Tick => {}
            Event::Fault { fault } => self.fault(fault, i),
        }
    }

    /// A mark on a client's lane with its label. `drop` is the label's baseline
    /// under the row's centre: above the line of an arrow that leaves, below
    /// that of one that arrives.
    fn client_mark(&mut self, client: u8, y: i32, shape: Shape, drop: i32, text: &str) {
        let (x, colour) = (self.layout.client_x(client), colour(client));
        let (class, radius, style) = match shape {
            Shape::Ring => ("ring", 5, "b"),
            Shape::Dot => ("dot", 4, ""),
            Shape::Disc => ("dot", 6, "b"),
        };
        put!(
            self,
            "<circle class=\"{colour} {class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
        );
        let text = words::shorten(&words::printable(text), CLIENT_LABEL);
        self.label(x + GAP, y + drop, style, &text);
    }

    fn label(&mut self, x: i32, y: i32, class: &str, text: &str) {
        let class = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        put!(
            self,
            "<text{class} x=\"{x}\" y=\"{y}\">{}</text>",
            escape(text)
        );
    }

    fn fault(&mut self, fault: &FaultEvent, i: usize) {
        let y = self.layout.y[i];
        let told = fault.told("");
        let mut x = self.layout.lane_x(told.lane);
        // A link's line runs through its row; its label stands above.
        let mut drop = 4;
        match told.mark {
            Mark::Cross => put!(self, "<path class=\"x\" d=\"{}\"/>", cross(x, y)),
            // Its cross is the arrow's end.
            Mark::Lost => x = self.lost_at(i),
            Mark::Link { client, node, cut } => {
                let ends = [self.layout.client_x(client), self.layout.node_x(node)];
                x = self.link(ends, y, cut);
                drop = -5;
            }
            Mark::Restart { forgets } => self.restart(x, y, forgets),
            Mark::Square => {
                put!(
                    self,
                    "<rect class=\"n dot\" x=\"{}\" y=\"{}\" width=\"8\" height=\"8\"/>",
                    x - 4,
                    y - 4
                );
                return self.label(x + GAP, y + 4, "", &told.short);
            }
            Mark::Diamond => put!(self, "<path class=\"f dot\" d=\"{}\"/>", diamond(x, y)),
        }
        self.label(x + GAP, y + drop, "ft", &told.short);
    }

    /// Where the arrow that is lost in this step ends.
    fn lost_at(&self, step: usize) -> i32 {
        for flight in &self.flights {
            let client = self.layout.client_x(flight.client);
            let node = self.layout.node_x(flight.node);
            if flight.request == Arrival::Lost(step) {
                return self.layout.lost_x(client, node);
            }
            if matches!(flight.reply, Some((_, Arrival::Lost(s))) if s == step) {
                return self.layout.lost_x(node, client);
            }
        }
        GUTTER
    }

    fn link(&mut self, [client, node]: [i32; 2], y: i32, cut: bool) -> i32 {
        let x = self.layout.lost_x(client, node);
        put!(
            self,
            "<path class=\"link{}\" d=\"M{} {y}H{}\"/>",
            if cut { " cut" } else { "" },
            client + GAP,
            node - GAP
        );
        if cut {
            put!(self, "<path class=\"x\" d=\"{}\"/>", cross(x, y));
        }
        x
    }

    /// A gap in the lane: the process is another one afterwards. If it forgets,
    /// the gap is wide.
    fn restart(&mut self, x: i32, y: i32, loses: bool) {
        let half = if loses { 7 } else { 4 };
        put!(
            self,
            "<rect class=\"gap\" x=\"{}\" y=\"{}\" width=\"6\" height=\"{}\"/><path class=\"x\" d=\"M{} {}l14 -5M{} {}l14 -5\"/>",
            x - 3,
            y - half,
            2 * half,
            x - 7,
            y - half + 2,
            x - 7,
            y + half + 2
        );
    }
}

fn outcome_short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Held {
            validity_ms: Some(ms),
            ..
        } => format!("held, {ms} ms"),
        Outcome::Failed { .. } => "failed".into(),
        Outcome::Done { effect: None } => "done".into(),
        other => words::outcome(other),
    }
}

fn diamond(x: i32, y: i32) -> String {
    format!("M{x} {}l7 7l-7 7l-7 -7z", y - 7)
}
