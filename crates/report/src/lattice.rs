//! The sets of faults that were checked of a lock, drawn: which break it, and which do not.
//!
//! From left to right the sets grow, a column for each number of faults, and a line leads from a set
//! to each checked set that has one fault more (or, where there is none between, more than one). Each
//! set has a line of its own, so no label overlaps another, and a lock that was checked under single
//! faults is no wider than a telephone. Levels from bottom to top, the usual way, were rejected:
//! twenty names side by side fit on no screen.
//!
//! A verdict is a mark, a word of the legend and a colour; sets on the frontier have a thick border.
//! Boxes and lines of one kind are one path each, which keeps a page with thirty locks small.

use std::fmt::Write;

use lockproof_trace::words;
use unicode_width::UnicodeWidthStr;

use super::diagram::escape;
use super::frontier::{Answer, CheckedSet, LockFrontier};
use super::model::verdict_mark;
use super::sets::NO_FAULTS;
use lockproof_model::check::Verdict;

/// More sets are not drawn.
const DRAWN_MAX: usize = 160;
/// A longer label is cut.
const LABEL_CHARS: usize = 48;
const ROW: usize = 24;
const BOX: usize = 19;
const GAP: usize = 32;
const MARGIN: usize = 8;
/// Pixels of a character, of the mark beside a label, and of how many properties break.
const CHAR: usize = 7;
const MARK: usize = 27;
const COUNT: usize = 34;

/// The style sheet; a page with many drawings has it once.
pub const STYLE: &str = include_str!("templates/lattice.css");

/// The drawing as a document of its own.
pub fn svg(frontier: &LockFrontier) -> String {
    draw(frontier, Some(STYLE))
}

/// The drawing without its style sheet.
pub fn svg_unstyled(frontier: &LockFrontier) -> String {
    draw(frontier, None)
}

struct Node<'f, 'r> {
    set: &'f CheckedSet<'r>,
    label: String,
    x: usize,
    y: usize,
    width: usize,
}

fn draw(frontier: &LockFrontier, style: Option<&str>) -> String {
    let (nodes, width, height) = layout(frontier);
    let caption = caption(frontier, nodes.len());
    let height = height + 22;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lt\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(&format!("{}: {}", frontier.title(), frontier.sentence()))
    );
    if let Some(style) = style {
        let _ = write!(out, "<style>{style}</style>");
    }
    let _ = write!(out, "<path class=\"e\" d=\"{}\"/>", lines(&nodes));
    for answer in [Answer::Safe, Answer::Breaks, Answer::Unknown] {
        for extreme in [false, true] {
            let path = boxes(&nodes, answer, extreme);
            if !path.is_empty() {
                let thick = if extreme { " m" } else { "" };
                let _ = write!(
                    out,
                    "<path class=\"{}{thick}\" d=\"{path}\"/>",
                    class(answer)
                );
            }
        }
    }
    for node in &nodes {
        text(&mut out, node);
    }
    let _ = write!(
        out,
        "<text class=\"k\" x=\"{MARGIN}\" y=\"{}\">{}</text></svg>",
        height - 8,
        escape(&caption)
    );
    out
}

/// Where everything stands, and how large the whole is.
fn layout<'f, 'r>(frontier: &'f LockFrontier<'r>) -> (Vec<Node<'f, 'r>>, usize, usize) {
    let drawn = &frontier.sets[..frontier.sets.len().min(DRAWN_MAX)];
    let mut columns: Vec<usize> = drawn.iter().map(|one| one.set.len()).collect();
    columns.dedup();
    let longest = columns
        .iter()
        .map(|size| drawn.iter().filter(|one| one.set.len() == *size).count());
    let rows = longest.max().unwrap_or(0);
    let mut nodes = Vec::new();
    let mut x = MARGIN;
    for size in columns {
        let column: Vec<&CheckedSet> = drawn.iter().filter(|one| one.set.len() == size).collect();
        let labels: Vec<String> = column.iter().map(|one| label(frontier, one)).collect();
        let chars = labels.iter().map(|label| label.width()).max().unwrap_or(0);
        let breaks = column.iter().any(|one| one.answer == Answer::Breaks);
        let width = chars * CHAR + MARK + if breaks { COUNT } else { 0 };
        let top = MARGIN + (rows - column.len()) * ROW / 2;
        for ((place, set), label) in column.into_iter().enumerate().zip(labels) {
            nodes.push(Node {
                set,
                label,
                x,
                y: top + place * ROW,
                width,
            });
        }
        x += width + GAP;
    }
    let width = x.saturating_sub(GAP) + MARGIN;
    (nodes, width.max(300), rows * ROW + 2 * MARGIN)
}

fn label(frontier: &LockFrontier, one: &CheckedSet) -> String {
    let names: Vec<String> = one
        .set
        .iter()
        .map(|switch| frontier.switch_words(switch))
        .collect();
    match names.is_empty() {
        true => NO_FAULTS.into(),
        false => words::shorten(&names.join(" + "), LABEL_CHARS),
    }
}

/// A line from each set to the sets that contain it, with none between them.
fn lines(nodes: &[Node]) -> String {
    let is_part = |one: &Node, other: &Node| {
        one.set.set.len() < other.set.set.len()
            && one
                .set
                .set
                .iter()
                .all(|switch| other.set.set.contains(switch))
    };
    let mut path = String::new();
    for whole in nodes {
        let parts: Vec<&Node> = nodes.iter().filter(|part| is_part(part, whole)).collect();
        let direct = parts
            .iter()
            .filter(|part| !parts.iter().any(|between| is_part(part, between)));
        for part in direct {
            let (from, to) = (
                (part.x + part.width, part.y + BOX / 2),
                (whole.x, whole.y + BOX / 2),
            );
            let middle = (from.0 + to.0) / 2;
            let _ = write!(
                path,
                "M{} {}C{middle} {} {middle} {} {} {}",
                from.0, from.1, from.1, to.1, to.0, to.1
            );
        }
    }
    path
}

fn boxes(nodes: &[Node], answer: Answer, extreme: bool) -> String {
    let mut path = String::new();
    let wanted = |node: &&Node| (node.set.answer, node.set.extreme) == (answer, extreme);
    for node in nodes.iter().filter(wanted) {
        let _ = write!(
            path,
            "M{} {}h{}v{BOX}h-{}z",
            node.x, node.y, node.width, node.width
        );
    }
    path
}

fn text(out: &mut String, node: &Node) {
    let y = node.y + 14;
    let _ = write!(
        out,
        "<text class=\"{}\" x=\"{}\" y=\"{y}\">{} {}</text>",
        class(node.set.answer),
        node.x + 6,
        mark(node.set.answer),
        escape(&node.label)
    );
    if node.set.answer == Answer::Breaks {
        let _ = write!(
            out,
            "<text class=\"k e\" x=\"{}\" y=\"{y}\">{}/{}</text>",
            node.x + node.width - 5,
            node.set.broken,
            node.set.properties
        );
    }
}

fn class(answer: Answer) -> &'static str {
    match answer {
        Answer::Safe => "h",
        Answer::Breaks => "b",
        Answer::Unknown => "u",
    }
}

fn mark(answer: Answer) -> &'static str {
    verdict_mark(match answer {
        Answer::Safe => Verdict::Holds,
        Answer::Breaks => Verdict::Violated,
        Answer::Unknown => Verdict::Unknown,
    })
}

/// The legend, and what is not drawn.
fn caption(frontier: &LockFrontier, drawn: usize) -> String {
    let all = frontier.sets.len() + frontier.left_out;
    let mut text = "✓ safe  ✗ breaks n of all properties".to_owned();
    if frontier
        .sets
        .iter()
        .any(|one| one.answer == Answer::Unknown)
    {
        text += "  ? not known";
    }
    if all > drawn {
        text += &format!(
            "  ({} not drawn)",
            words::plural((all - drawn) as u32, "set")
        );
    }
    text
}
