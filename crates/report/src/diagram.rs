//! The space-time diagram of a trace, as SVG.
//!
//! Time runs downwards and every step has a row of its own, as in a story. With
//! time to the right, the classical way, commands would have to be written
//! along slanted arrows or be cut to nothing; downwards each label stands
//! beside its mark, no two labels share a row, and so none can overlap, however
//! long the trace is. Rows also line up with a list of the steps.
//!
//! Clients are lanes on the left, nodes on the right. An arrow leaves in the row
//! in which its message is sent and ends in the row in which it arrives, so a
//! delay is a long slant. A bar on a client's lane is what it believes:
//! outlined while it believes to hold the lock, filled while that is valid too.
//!
//! The drawing is a pure function of the trace: integer coordinates, no ids
//! (several diagrams may stand in one page), no scripts. Colours are CSS
//! variables (`--lp-...`); a page that sets none gets light or dark by the
//! reader's preference.

mod draw;
mod layout;
mod marks;

pub(crate) use draw::sentence;

use lockproof_trace::Trace;

/// The style sheet of the diagram. A page with many diagrams includes it once
/// and calls [`svg_unstyled`].
pub const STYLE: &str = include_str!("templates/diagram.css");

/// The diagram as a self-contained SVG document.
pub fn svg(trace: &Trace) -> String {
    draw::draw(trace, Some(STYLE))
}

/// The diagram without its style sheet.
pub fn svg_unstyled(trace: &Trace) -> String {
    draw::draw(trace, None)
}

/// A drawing of nothing but a text: why there is no diagram.
pub fn note(text: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"><text y=\"20\">{}</text></svg>",
        escape(text)
    )
}

/// The text with the five characters that mean something in HTML and XML
/// replaced, and those that XML forbids left out.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
