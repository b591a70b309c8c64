//! Losses against pause length, as a picture.
//!
//! The axis across is in leases, because that is what matters: a pause shorter
//! than the lease loses nothing. A point is all runs of one length with its
//! interval; the small dots are its runs, and tell how far single runs lie apart.
//! Only numbers and our own words go in, and the published figure's name, escaped.

use std::fmt::Write;

use super::scenario::{ScenarioRow, percent};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
/// Left, top, right and bottom of the plot.
const PLOT: (f64, f64, f64, f64) = (64.0, 18.0, 622.0, 268.0);

/// The figure as SVG; empty if the row has no runs at several pause lengths.
pub fn sweep_svg(row: &ScenarioRow) -> String {
    if row.sweep.is_empty() {
        return String::new();
    }
    let scale = Scale::new(row);
    let mut out = format!(
        "<svg class=\"figure\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Lost updates against pause length; the figures are in the table below\">"
    );
    axes(&mut out, &scale);
    if let Some(published) = &row.published {
        let y = scale.y(published.lost_rate);
        let _ = write!(
            out,
            "<path class=\"published\" d=\"M{} {y:.1}H{}\"/><text class=\"published\" x=\"{}\" y=\"{:.1}\">{}, published: about {}</text>",
            PLOT.0,
            PLOT.2,
            PLOT.0 + 8.0,
            y - 6.0,
            escaped(&published.of),
            percent(published.lost_rate),
        );
    }
    let mut path = String::new();
    for point in &row.sweep {
        let x = scale.x(point.pause_ms);
        for run in point.runs.iter().filter_map(|run| run.losses) {
            let y = scale.y(run.value());
            let _ = write!(
                out,
                "<circle class=\"single\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>"
            );
        }
        if point.losses.of == 0 {
            continue;
        }
        let (y, low, high) = (
            scale.y(point.losses.value()),
            scale.y(point.losses.low),
            scale.y(point.losses.high),
        );
        let (left, right) = (x - 5.0, x + 5.0);
        let _ = write!(
            out,
            "<path class=\"interval\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}\"/><circle class=\"point\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"
        );
        let _ = write!(
            path,
            "{}{x:.1} {y:.1}",
            if path.is_empty() { 'M' } else { 'L' }
        );
    }
    let _ = write!(out, "<path class=\"through\" d=\"{path}\"/></svg>");
    out
}

/// From leases and shares to pixels.
struct Scale {
    ttl_ms: f64,
    leases_max: f64,
    share_max: f64,
}

impl Scale {
    fn new(row: &ScenarioRow) -> Scale {
        let ttl_ms = row.ttl_ms.max(1) as f64;
        let longest = row.sweep.iter().map(|point| point.pause_ms).max();
        let leases_max = (longest.unwrap_or(0) as f64 / ttl_ms * 1.08).max(1.2);
        let highs = row.sweep.iter().filter(|point| point.losses.of > 0);
        let highs = highs.map(|point| point.losses.high);
        let singles = row.sweep.iter().flat_map(|point| &point.runs);
        let singles = singles
            .filter_map(|run| run.losses)
            .map(|share| share.value());
        let published = row.published.iter().map(|published| published.lost_rate);
        let highest = highs.chain(singles).chain(published).fold(0.01, f64::max);
        Scale {
            ttl_ms,
            leases_max,
            share_max: (highest * 1.15).min(1.0),
        }
    }

    fn x(&self, pause_ms: u64) -> f64 {
        self.x_leases(pause_ms as f64 / self.ttl_ms)
    }

    fn x_leases(&self, leases: f64) -> f64 {
        PLOT.0 + leases / self.leases_max * (PLOT.2 - PLOT.0)
    }

    fn y(&self, share: f64) -> f64 {
        PLOT.3 - (share / self.share_max).min(1.0) * (PLOT.3 - PLOT.1)
    }
}

fn axes(out: &mut String, scale: &Scale) {
    let (left, top, right, bottom) = PLOT;
    let step = step(scale.share_max / 5.0);
    let mut share = 0.0;
    while share <= scale.share_max {
        let y = scale.y(share);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text class=\"tick end\" x=\"{}\" y=\"{:.1}\">{} %</text>",
            left - 8.0,
            y + 4.0,
            tick(share * 100.0)
        );
        share += step;
    }
    let step = self::step(scale.leases_max / 7.0);
    let mut leases = 0.0;
    while leases <= scale.leases_max {
        let x = scale.x_leases(leases);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {bottom}v5\"/><text class=\"tick middle\" x=\"{x:.1}\" y=\"{}\">{}</text>",
            bottom + 19.0,
            tick(leases)
        );
        leases += step;
    }
    let lease = scale.x_leases(1.0);
    let _ = write!(
        out,
        "<path class=\"lease\" d=\"M{lease:.1} {top}V{bottom}\"/><text class=\"tick middle\" x=\"{lease:.1}\" y=\"{}\">one lease</text>\
         <path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>\
         <text class=\"tick middle\" x=\"{}\" y=\"{}\">length of a pause, in leases</text>",
        top - 6.0,
        (left + right) / 2.0,
        bottom + 42.0
    );
}

/// A round number without what adding up steps left behind.
fn tick(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A round step, not smaller than `rough`.
fn step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let found = steps
        .map(|step| step * power)
        .into_iter()
        .find(|step| *step >= rough);
    found.unwrap_or(10.0 * power)
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}
