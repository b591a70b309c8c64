//! The drawing itself. Layers, from the back: red rows, ticks, bands, lanes,
//! bars, arrows, then each step with its mark and label.

use std::fmt::Write;

use lockproof_trace::{Event, FaultEvent, Lane, Mark, Step, Trace, words};

use super::escape;
use super::layout::{Arrival, BANNER, Flight, GUTTER, HEAD, Layout, between, flights, spans};

/// Half the width of a belief bar.
const BAR: i32 = 6;
/// Distance of a label from its lane.
pub(super) const GAP: i32 = 13;

pub(super) struct Canvas<'a> {
    pub(super) trace: &'a Trace,
    pub(super) layout: Layout,
    pub(super) flights: Vec<Flight>,
    pub(super) out: String,
}

// Writing to a String cannot fail; the macro spares each call the `let _`.
macro_rules! put {
    ($canvas:expr, $($arg:tt)*) => {{ let _ = write!($canvas.out, $($arg)*); }};
}

pub(super) use put;

pub fn draw(trace: &Trace, style: Option<&str>) -> String {
    let mut canvas = Canvas {
        trace,
        layout: Layout::new(trace),
        flights: flights(trace),
        out: String::new(),
    };
    canvas.open(style);
    canvas.violated_rows();
    canvas.ticks();
    canvas.rounds();
    canvas.bands();
    canvas.lanes();
    canvas.bars();
    canvas.arrows();
    canvas.steps();
    canvas.violations();
    canvas.heads(10);
    let foot = canvas.layout.bottom + 4;
    canvas.heads(foot);
    canvas.legend();
    canvas.out.push_str("</svg>\n");
    canvas.out
}

pub(super) fn colour(client: u8) -> String {
    format!("c{}", client % 4)
}

impl Canvas<'_> {
    fn open(&mut self, style: Option<&str>) {
        let (w, h) = (self.layout.width, self.layout.height);
        put!(
            self,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lp\" role=\"img\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n"
        );
        let lock = &self.trace.lock.name;
        let title = match &self.trace.property {
            Some(property) => format!("How {lock} violates {property}"),
            None => format!("A run of {lock}"),
        };
        put!(self, "<title>{}</title>\n", escape(&title));
        put!(
            self,
            "<desc>Space-time diagram, time downwards: {} and {} as vertical lanes, {}, messages as arrows. The list of steps says the same in words.</desc>\n",
            words::plural(self.layout.clients as u32, "client"),
            words::plural(self.layout.nodes as u32, "node"),
            words::plural(self.trace.steps.len() as u32, "step"),
        );
        if let Some(style) = style {
            put!(self, "<style>{style}</style>\n");
        }
    }

    fn heads(&mut self, top: i32) {
        for client in 0..self.trace.setup.clients {
            let (x, class) = (self.layout.client_x(client), colour(client));
            self.head(x, top, &class, &words::client(client), "client");
        }
        for node in 0..self.trace.setup.nodes {
            let x = self.layout.node_x(node);
            self.head(x, top, "n", &words::node(node), "node");
        }
    }

    fn head(&mut self, x: i32, top: i32, class: &str, name: &str, role: &str) {
        let half = 9 + 4 * name.chars().count() as i32;
        put!(
            self,
            "<g class=\"{class}\"><rect class=\"head\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"20\" rx=\"6\"/><text class=\"headt\" x=\"{x}\" y=\"{}\">{name}</text><text class=\"role\" x=\"{x}\" y=\"{}\">{role}</text></g>\n",
            x - half,
            2 * half,
            top + 14,
            top + 32,
        );
    }

    fn ticks(&mut self) {
        let mut ticks = 0;
        for i in 0..self.trace.steps.len() {
            if self.trace.steps[i].event != Event::Tick {
                continue;
            }
            ticks += 1;
            let (y, w) = (self.layout.y[i], self.layout.width);
            let ms = ticks * self.trace.setup.tick_ms;
            put!(
                self,
                "<path class=\"tl\" d=\"M{GUTTER} {y}H{}\"/><text class=\"t\" x=\"8\" y=\"{}\">tick {ticks} · {ms} ms</text>\n",
                w - 8,
                y + 4
            );
        }
    }

    /// A line where each round of an endless run begins, and beside the first one an arrow from
    /// its end back to its beginning.
    fn rounds(&mut self) {
        let Some(repeats) = &self.trace.repeats else {
            return;
        };
        let tops = repeats.rounds.iter().map(|step| {
            let at = (*step as usize).saturating_sub(1);
            let row = self.layout.y.get(at).zip(self.layout.heights.get(at));
            row.map_or(self.layout.bottom, |(y, height)| y - height / 2)
        });
        let tops: Vec<i32> = tops.collect();
        let right = self.layout.width - 8;
        for (number, top) in tops.iter().enumerate() {
            let text = match number {
                0 => "from here on it repeats".to_string(),
                more => format!("round {}", more + 1),
            };
            put!(
                self,
                "<path class=\"link cut\" d=\"M{GUTTER} {top}H{right}\"/><text class=\"ft\" text-anchor=\"end\" x=\"{right}\" y=\"{}\">{text}</text>\n",
                top - 3
            );
        }
        if let [top, end, ..] = tops[..] {
            let (x, end, tip) = (right + 3, end - 2, top + 6);
            put!(
                self,
                "<path class=\"link\" fill=\"none\" d=\"M{right} {end}H{x}V{top}H{right}\"/><path class=\"ft\" d=\"M{right} {top}L{x} {tip}L{} {tip}z\"/>\n",
                right - 3
            );
        }
    }

    /// Bottom of the span: the row of its last step, or the end of the lanes.
    fn until(&self, end: Option<usize>) -> i32 {
        end.map_or(self.layout.bottom, |i| self.layout.y[i])
    }

    fn bands(&mut self) {
        for c in 0..self.trace.setup.clients {
            let paused = stands(self.trace, Lane::Client(c));
            self.band(self.layout.client_x(c), &paused);
        }
        for n in 0..self.trace.setup.nodes {
            let paused = stands(self.trace, Lane::Node(n));
            self.band(self.layout.node_x(n), &paused);
        }
    }

    fn band(&mut self, x: i32, spans: &[(usize, Option<usize>)]) {
        for (start, end) in spans {
            let top = self.layout.y[*start];
            let height = self.until(*end) - top;
            put!(
                self,
                "<rect class=\"band\" x=\"{}\" y=\"{top}\" width=\"22\" height=\"{height}\" rx=\"4\"/>\n",
                x - 11
            );
        }
    }

    fn lanes(&mut self) {
        let (top, bottom) = (HEAD - 2, self.layout.bottom);
        for c in 0..self.trace.setup.clients {
            let x = self.layout.client_x(c);
            let died = self.trace.steps.iter().position(
                |s| matches!(&s.event, Event::Fault { fault } if ends(fault, Lane::Client(c))),
            );
            let alive = self.until(died);
            put!(
                self,
                "<path class=\"lane\" d=\"M{x} {top}V{alive}\"/><path class=\"lane gone\" d=\"M{x} {alive}V{bottom}\"/>\n"
            );
        }
        for n in 0..self.trace.setup.nodes {
            let x = self.layout.node_x(n);
            put!(self, "<path class=\"lane\" d=\"M{x} {top}V{bottom}\"/>\n");
        }
    }

    fn bars(&mut self) {
        for c in 0..self.trace.setup.clients {
            let (x, class) = (self.layout.client_x(c), colour(c));
            let believes = spans(self.trace, usize::from(c), |v| v.believes);
            for (start, end) in believes {
                self.bar(x, start, end, &format!("{class} belief"), BAR);
            }
            let valid = spans(self.trace, usize::from(c), |v| v.valid);
            for (start, end) in valid {
                self.bar(x, start, end, &format!("{class} valid"), BAR);
            }
        }
    }

    fn bar(&mut self, x: i32, start: usize, end: Option<usize>, class: &str, half: i32) {
        let top = self.layout.y[start];
        let height = self.until(end) - top;
        put!(
            self,
            "<rect class=\"{class}\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{height}\" rx=\"4\"/>\n",
            x - half,
            2 * half
        );
    }

    /// The ground of violating steps and of the banners under them.
    fn violated_rows(&mut self) {
        for i in 0..self.trace.steps.len() {
            let violated = self.trace.steps[i].violates.len() as i32;
            if violated == 0 {
                continue;
            }
            let height = self.layout.heights[i];
            let (left, right) = (GUTTER - 34, self.layout.width - 8);
            let top = self.layout.y[i] - height / 2;
            put!(
                self,
                "<rect class=\"vb\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"4\"/><path class=\"vl\" d=\"M{left} {}H{right}\"/>\n",
                right - left,
                height + BANNER * violated,
                top + height,
            );
        }
    }

    fn violations(&mut self) {
        let last = self.trace.setup.clients - 1;
        let x = self.layout.client_x(last) + GAP;
        for i in 0..self.trace.steps.len() {
            let top = self.layout.y[i] + self.layout.heights[i] / 2;
            for (k, property) in self.trace.steps[i].violates.iter().enumerate() {
                let asked = self.trace.property.as_ref() == Some(property);
                put!(
                    self,
                    "<text class=\"vt{}\" x=\"{x}\" y=\"{}\">✗ violates {}</text>\n",
                    if asked { "" } else { " also" },
                    top + 14 + BANNER * k as i32,
                    escape(property)
                );
            }
        }
    }

    fn arrows(&mut self) {
        for i in 0..self.flights.len() {
            let flight = self.flights[i];
            let class = colour(flight.client);
            let (client, node) = (
                self.layout.client_x(flight.client),
                self.layout.node_x(flight.node),
            );
            // Nobody asked for a message that is published.
            let asked = !matches!(flight.reply, Some((from, _)) if from == flight.sent);
            if asked {
                self.arrow(&class, (client, flight.sent), node, flight.request);
            }
            if let Some((executed, end)) = flight.reply {
                self.arrow(&class, (node, executed), client, end);
            }
        }
    }

    fn arrow(&mut self, class: &str, (x, from): (i32, usize), to: i32, end: Arrival) {
        let way = (to - x).signum();
        let (x1, y1) = (x + 5 * way, self.layout.y[from]);
        let (x2, last, kind) = match end {
            Arrival::Arrives(step) => (to - 6 * way, step, ""),
            Arrival::Ignored(step) => (to - 6 * way, step, " ign"),
            Arrival::Lost(step) => (self.layout.lost_x(x, to), step, " lost"),
            Arrival::Open => (self.layout.lost_x(x, to), usize::MAX, " open"),
        };
        let y2 = match self.layout.y.get(last) {
            Some(y) => *y,
            None => self.layout.bottom - 4,
        };
        let until = last.min(self.trace.steps.len());
        put!(
            self,
            "<g class=\"m {class}{kind}\" data-from=\"{}\" data-to=\"{}\"><path d=\"M{x1} {y1}L{x2} {y2}\"/>",
            from + 1,
            until + 1
        );
        match end {
            Arrival::Lost(_) => put!(self, "<path class=\"x\" d=\"{}\"/>", cross(x2, y2)),
            Arrival::Open => {}
            _ => put!(self, "<path class=\"a\" d=\"{}\"/>", tip(x1, y1, x2, y2)),
        }
        self.out.push_str("</g>\n");
    }

    fn steps(&mut self) {
        for i in 0..self.trace.steps.len() {
            let step = &self.trace.steps[i];
            let (y, height) = (self.layout.y[i], self.layout.heights[i]);
            let bad = if step.violates.is_empty() { "" } else { " bad" };
            let line = match &step.source {
                Some(source) => format!(" data-line=\"{}\"", source.line),
                None => String::new(),
            };
            put!(
                self,
                "<g class=\"s{bad}\" data-step=\"{}\"{line}><title>{}</title><rect class=\"h\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{height}\"/>",
                i + 1,
                escape(&format!("{}. {}", i + 1, sentence(self.trace, step))),
                GUTTER - 34,
                y - height / 2,
                self.layout.width - GUTTER + 26,
            );
            if step.event != Event::Tick {
                put!(
                    self,
                    "<text class=\"k\" x=\"{}\" y=\"{}\">{}</text>",
                    GUTTER - 8,
                    y + 4,
                    i + 1
                );
            }
            self.mark(i);
            self.out.push_str("</g>\n");
        }
    }

    fn legend(&mut self) {
        let y = self.layout.height - 12;
        let x = 10;
        put!(
            self,
            "<g class=\"c0 legend\"><rect class=\"belief\" x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"3\"/><text class=\"t\" x=\"{}\" y=\"{y}\">believes</text>",
            y - 10,
            x + 18
        );
        let x = x + 88;
        put!(
            self,
            "<rect class=\"belief\" x=\"{x}\" y=\"{0}\" width=\"12\" height=\"12\" rx=\"3\"/><rect class=\"valid\" x=\"{x}\" y=\"{0}\" width=\"12\" height=\"12\" rx=\"3\"/><text class=\"t\" x=\"{1}\" y=\"{y}\">and is valid</text>",
            y - 10,
            x + 18
        );
        let x = x + 114;
        put!(
            self,
            "<path class=\"x\" d=\"{}\"/><text class=\"t\" x=\"{}\" y=\"{y}\">lost</text>",
            cross(x + 6, y - 4),
            x + 18
        );
        let x = x + 62;
        put!(
            self,
            "<g class=\"m ign\"><path d=\"M{x} {0}h24\"/></g><text class=\"t\" x=\"{1}\" y=\"{y}\">read by nobody</text></g>\n",
            y - 4,
            x + 30
        );
    }
}

/// The step in words, with who acts.
pub(crate) fn sentence(trace: &Trace, step: &Step) -> String {
    let what = words::event(trace, &step.event);
    match &step.event {
        Event::Send { client, node, .. } => {
            let (client, node) = (words::client(*client), words::node(*node));
            format!("{client} sends {node}: {what}")
        }
        Event::Execute { node, .. }
        | Event::Block { node, .. }
        | Event::HangUp { node, .. }
        | Event::Publish { node, .. } => {
            format!("{} {what}", words::node(*node))
        }
        Event::Call { client, .. }
        | Event::Wake { client, .. }
        | Event::Choose { client, .. }
        | Event::Deliver { client, .. }
        | Event::Fail { client, .. }
        | Event::Outcome { client, .. }
        | Event::Assertion { client, .. }
        | Event::Write { client, .. } => format!("{} {what}", words::client(*client)),
        Event::Tick | Event::Fault { .. } => what,
    }
}

/// The step ranges in which a lane stands still.
fn stands(trace: &Trace, lane: Lane) -> Vec<(usize, Option<usize>)> {
    let says = |event: &Event, stands: bool| match event {
        Event::Fault { fault } => {
            let told = fault.told("");
            told.lane == lane && told.stands == Some(stands)
        }
        _ => false,
    };
    between(trace, |event| says(event, true), |event| says(event, false))
}

/// The lane ends with this fault.
fn ends(fault: &FaultEvent, lane: Lane) -> bool {
    let told = fault.told("");
    told.lane == lane && told.mark == Mark::Cross
}

pub(super) fn cross(x: i32, y: i32) -> String {
    format!("M{} {}l10 10m0 -10l-10 10", x - 5, y - 5)
}

/// A filled arrow tip at the end of a line.
fn tip(x1: i32, y1: i32, x2: i32, y2: i32) -> String {
    let (dx, dy) = (f64::from(x2 - x1), f64::from(y2 - y1));
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length * 8.0, dy / length * 8.0);
    let corner = |side: f64| {
        // Tenths of a pixel, so that the text does not depend on rounding noise.
        let x = f64::from(x2) - ux - uy * side;
        let y = f64::from(y2) - uy + ux * side;
        format!("{:.1} {:.1}", x, y)
    };
    format!("M{x2} {y2}L{}L{}z", corner(0.45), corner(-0.45))
}
