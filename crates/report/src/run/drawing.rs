//! The shapes of a run's page: paths in ms across and pixels down.
//!
//! Milliseconds with a fraction and not whole microseconds, because browsers lay
//! out in fixed-point numbers that end at 33 million. Only numbers go into them.

use std::fmt::Write;

use lockproof_history::timeline::{
    ClientRow, Detail, FaultBand, LatencyOf, MarkKind, Timeline, ViolationMark,
};
use serde::Serialize;

use super::duration;

/// Height of a client's row.
const ROW: u64 = 36;
/// Height of a line of fault names.
const LANE: u64 = 18;
/// Lines of fault names; faults that overlap stand in different ones.
const LANES_MAX: usize = 4;
/// Height of the line of violations.
const HEAD: u64 = 14;
/// Where attempts, holds and validities lie in a row: top and height.
const ATTEMPT: (u64, u64) = (4, 5);
const HELD: (u64, u64) = (11, 14);
const VALID: (u64, u64) = (27, 4);
/// Height of the latency chart.
const LATENCY: f64 = 170.0;

/// The shortest mark; less would not be drawn at all.
const MARK_NS_MIN: u64 = 10_000;

/// The time line.
#[derive(Serialize)]
pub(super) struct Chart {
    /// The run's end, in ms.
    end: String,
    /// Height of the drawing, without fault names.
    height: u64,
    /// Height of the fault names.
    lanes: u64,
    head: u64,
    row: u64,
    rows: Vec<RowPaths>,
    bands: Vec<Band>,
    violations: Vec<ViolationPath>,
    /// Slices in which every mark is drawn, if that is not everywhere.
    detail: String,
    ticks: Vec<Tick>,
}

#[derive(Serialize)]
struct RowPaths {
    client: u32,
    top: u64,
    /// Class and path.
    paths: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
struct Band {
    /// In ms.
    from: String,
    to: String,
    length: String,
    /// Percent of the run.
    left: String,
    width: String,
    lane: usize,
    name: String,
    target: String,
}

#[derive(Serialize)]
struct ViolationPath {
    /// In ms.
    time: String,
    sure: bool,
    /// Tops of the rows that it concerns.
    rows: Vec<u64>,
}

#[derive(Serialize)]
struct Tick {
    left: String,
    label: String,
}

/// The latency chart.
#[derive(Serialize)]
pub(super) struct LatencyChart {
    height: f64,
    p50: String,
    p99: String,
    max: String,
    /// Height from the top in px, and a label.
    grid: Vec<(String, String)>,
}

pub(super) fn chart(timeline: &Timeline) -> Chart {
    let end = timeline.duration_ns.max(1);
    let top = |index: usize| HEAD + index as u64 * ROW;
    let rows: Vec<RowPaths> = timeline
        .clients
        .iter()
        .enumerate()
        .map(|(index, row)| RowPaths {
            client: row.client,
            top: top(index),
            paths: paths(row, top(index), end, timeline.slice_ns),
        })
        .collect();
    let place = |client: &u32| rows.iter().find(|row| row.client == *client);
    let violation = |mark: &ViolationMark| ViolationPath {
        time: ms(mark.time),
        sure: mark.sure,
        rows: mark
            .clients
            .iter()
            .filter_map(place)
            .map(|row| row.top)
            .collect(),
    };
    let violations = timeline.violations.iter().map(violation).collect();
    let (bands, lanes) = bands(&timeline.faults, end);
    Chart {
        end: ms(end.max(MARK_NS_MIN)),
        height: top(rows.len()).max(HEAD + ROW),
        lanes: lanes as u64 * LANE,
        head: HEAD,
        row: ROW,
        rows,
        bands,
        violations,
        detail: detail(timeline),
        ticks: ticks(end),
    }
}

/// The paths of a row, in the order in which they lie on each other.
fn paths(row: &ClientRow, top: u64, end: u64, slice_ns: u64) -> Vec<(&'static str, String)> {
    let line = |kind: MarkKind, (y, height): (u64, u64)| {
        let mut path = String::new();
        // Strokes lie on both sides of their line.
        let middle = top as f64 + y as f64 + height as f64 / 2.0;
        for mark in row.marks.iter().filter(|mark| mark.kind == kind) {
            let length = mark.to.min(end).saturating_sub(mark.from).max(MARK_NS_MIN);
            let _ = write!(path, "M{} {middle}h{}", ms(mark.from), ms(length));
        }
        path
    };
    let crashes = row.marks.iter().filter(|mark| mark.kind == MarkKind::Crash);
    let mut crash = String::new();
    for mark in crashes {
        let _ = write!(crash, "M{} {top}v{ROW}", ms(mark.from));
    }
    let all = [
        ("stall", line(MarkKind::Stall, (1, ROW - 2))),
        (
            "attempt-share",
            shares(row, ATTEMPT, top, slice_ns, |share| share.attempt),
        ),
        (
            "held-share",
            shares(row, HELD, top, slice_ns, |share| share.held),
        ),
        ("attempt", line(MarkKind::Attempt, ATTEMPT)),
        ("perhaps", line(MarkKind::PerhapsHeld, HELD)),
        ("held", line(MarkKind::Held, HELD)),
        ("valid", line(MarkKind::Valid, VALID)),
        ("crash", crash),
    ];
    all.into_iter()
        .filter(|(_, path)| !path.is_empty())
        .collect()
}

/// A bar a slice, as high as its share.
fn shares(
    row: &ClientRow,
    (y, height): (u64, u64),
    top: u64,
    slice_ns: u64,
    of: impl Fn(&lockproof_history::timeline::Share) -> f32,
) -> String {
    let mut path = String::new();
    let bottom = top + y + height;
    for (slice, share) in &row.shares {
        let share = of(share);
        if share <= 0.0 {
            continue;
        }
        // Below half a pixel nothing would show that there was something.
        let high = (share * height as f32).max(0.5);
        let (from, width) = (ms(slice.saturating_mul(slice_ns)), ms(slice_ns));
        let _ = write!(path, "M{from} {bottom}v-{high:.1}h{width}v{high:.1}z");
    }
    path
}

fn detail(timeline: &Timeline) -> String {
    let Detail::Around(spans) = &timeline.detail else {
        return String::new();
    };
    let mut path = String::new();
    for (from, to) in spans {
        let _ = write!(path, "M{} 1h{}", ms(*from), ms(to - from));
    }
    path
}

/// The bands, and how many lines their names need.
fn bands(faults: &[FaultBand], end: u64) -> (Vec<Band>, usize) {
    let mut free_from = [0; LANES_MAX];
    let mut used = 0;
    let mut bands = Vec::new();
    for fault in faults {
        let free = free_from.iter().position(|free| *free <= fault.from);
        let lane = free.unwrap_or(LANES_MAX - 1);
        free_from[lane] = fault.to;
        used = used.max(lane + 1);
        let to = fault.to.min(end);
        let length = to.saturating_sub(fault.from).max(MARK_NS_MIN);
        bands.push(Band {
            from: ms(fault.from),
            to: ms(fault.from.saturating_add(length)),
            length: ms(length),
            left: percent(fault.from, end),
            width: percent(length, end),
            lane,
            name: super::text(&fault.name),
            target: super::text(&fault.target),
        });
    }
    (bands, used)
}

fn percent(part: u64, end: u64) -> String {
    format!("{:.3}", part as f64 / end as f64 * 100.0)
}

/// Labels of the whole run's axis: some eight round times.
fn ticks(end: u64) -> Vec<Tick> {
    let rough = end as f64 / 8.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps
        .map(|step| step * power)
        .into_iter()
        .find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power).max(1.0);
    // At the right edge there is no room for a label.
    (0..=(0.96 * end as f64 / step) as u64)
        .map(|index| {
            let at = index as f64 * step;
            Tick {
                left: format!("{:.3}", at / end as f64 * 100.0),
                label: match at {
                    0.0 => "0".into(),
                    at => trimmed(at / 1e9),
                },
            }
        })
        .collect()
}

/// Seconds without zeros that say nothing.
fn trimmed(seconds: f64) -> String {
    let text = format!("{seconds:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} s")
}

/// Milliseconds with up to two digits behind the point: a path has one for each
/// mark, and 10 µs are less than a pixel in the closest window.
pub(super) fn ms(ns: u64) -> String {
    let hundredths = ns / 10_000;
    let (whole, part) = (hundredths / 100, hundredths % 100);
    match (part, part % 10) {
        (0, _) => whole.to_string(),
        (_, 0) => format!("{whole}.{}", part / 10),
        _ => format!("{whole}.{part:02}"),
    }
}

/// The chart of latencies; `None` if nothing was measured.
pub(super) fn latency(timeline: &Timeline) -> Option<LatencyChart> {
    let slices = &timeline.latency.slices;
    let found = || slices.iter().flatten();
    let lowest = found().map(|one| one.p50_us).fold(f64::INFINITY, f64::min);
    let highest = found().map(|one| one.max_us).fold(0.0, f64::max);
    found().next()?;
    let low = lowest.max(1.0).log10().floor();
    let high = highest.max(1.0).log10().ceil().max(low + 1.0);
    let y = |us: f64| LATENCY * (1.0 - (us.max(1.0).log10() - low) / (high - low));
    let line = |of: fn(&LatencyOf) -> f64| {
        let mut path = String::new();
        let mut drawn = false;
        for (slice, one) in slices.iter().enumerate() {
            let Some(one) = one else {
                drawn = false;
                continue;
            };
            let from = ms((slice as u64).saturating_mul(timeline.slice_ns));
            let width = ms(timeline.slice_ns);
            let step = if drawn { 'L' } else { 'M' };
            let _ = write!(path, "{step}{from} {:.1}h{width}", y(of(one)));
            drawn = true;
        }
        path
    };
    let grid = (low as i32..=high as i32).map(|power| {
        let us = 10f64.powi(power);
        let label = duration(us * 1e3);
        let label = label.replace(".00", "").replace(".0", "");
        (format!("{:.1}", y(us)), label)
    });
    Some(LatencyChart {
        height: LATENCY,
        p50: line(|one| one.p50_us),
        p99: line(|one| one.p99_us),
        max: line(|one| one.max_us),
        grid: grid.collect(),
    })
}
