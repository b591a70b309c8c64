//! The space-time diagram is readable, complete, and the same each time.

use crate::report_common::{FIXTURES, fixture};
use lockproof_report::diagram::{STYLE, svg, svg_unstyled};
use lockproof_trace::{Event, FaultEvent, Trace};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event as Xml};

fn attribute(element: &BytesStart, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).unwrap()?;
    Some(String::from_utf8(found.value.to_vec()).unwrap())
}

fn number(element: &BytesStart, name: &str) -> f64 {
    attribute(element, name).unwrap().parse().unwrap()
}

/// A text of the drawing with the box that it covers.
#[derive(Debug)]
struct Label {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Width of a character in the monospaced font at 1 px, rounded up.
const ADVANCE: f64 = 0.61;

fn label(element: &BytesStart, text: String) -> Label {
    let class = attribute(element, "class").unwrap_or_default();
    let size = match class.split(' ').next().unwrap() {
        "headt" => 13.0,
        "vt" => 12.0,
        "role" => 10.0,
        _ => 11.0,
    };
    let (x, y) = (number(element, "x"), number(element, "y"));
    let width = text.chars().count() as f64 * size * ADVANCE;
    let left = match class.as_str() {
        "headt" | "role" => x - width / 2.0,
        "k" => x - width,
        _ => x,
    };
    Label {
        text,
        left,
        right: left + width,
        // Digits and capitals: no taller than 3/4 of the size.
        top: y - 0.75 * size,
        bottom: y + 0.1 * size,
    }
}

/// All texts, and the size of the drawing. Fails if it is not well-formed.
fn labels(svg: &str) -> (Vec<Label>, f64, f64) {
    let mut reader = Reader::from_str(svg);
    let (mut found, mut size, mut open) = (Vec::new(), (0.0, 0.0), None);
    let mut text = String::new();
    loop {
        match reader.read_event().expect("well-formed") {
            Xml::Start(e) if e.name().as_ref() == b"svg" => {
                size = (number(&e, "width"), number(&e, "height"));
            }
            Xml::Start(e) if e.name().as_ref() == b"text" => {
                open = Some(e.into_owned());
                text.clear();
            }
            Xml::Text(t) if open.is_some() => text += &String::from_utf8_lossy(&t),
            // One character, however it is written.
            Xml::GeneralRef(_) if open.is_some() => text.push('&'),
            Xml::End(e) if e.name().as_ref() == b"text" => {
                found.push(label(&open.take().unwrap(), text.clone()));
            }
            Xml::Eof => return (found, size.0, size.1),
            _ => {}
        }
    }
}

fn assert_readable(name: &str, trace: &Trace) {
    let (labels, width, height) = labels(&svg(trace));
    assert!(labels.len() > 10, "{name}");
    for (i, a) in labels.iter().enumerate() {
        assert!(
            a.left >= 0.0 && a.right <= width && a.top >= 0.0 && a.bottom <= height,
            "{name}: {a:?} leaves the drawing of {width} x {height}"
        );
        for b in &labels[i + 1..] {
            let apart =
                a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
            let (one, two) = (&a.text, &b.text);
            assert!(apart, "{name}: {one:?} overlaps {two:?}: {a:?}, {b:?}");
        }
    }
}

#[test]
fn no_label_overlaps_another_or_leaves_the_drawing() {
    for name in FIXTURES {
        assert_readable(name, &fixture(name));
    }
}

#[test]
fn labels_stay_apart_however_long_commands_and_replies_are() {
    let mut trace = fixture("redlock-amnesia");
    let long = "w".repeat(400);
    for step in &mut trace.steps {
        match &mut step.event {
            Event::Send { argv, .. } => argv.iter_mut().for_each(|a| *a += &long),
            Event::Execute { reply, .. } | Event::Deliver { reply, .. } => {
                *reply = lockproof_redis::Reply::Bulk(long.clone().into());
            }
            Event::Call { op, .. } => *op = "acquire".into(),
            _ => {}
        }
        if step.source.is_some() {
            step.violates = vec!["mutual-exclusion-validity".into()];
        }
    }
    assert_readable("long texts", &trace);
}

#[test]
fn the_same_trace_gives_the_same_bytes() {
    for name in FIXTURES {
        assert_eq!(svg(&fixture(name)), svg(&fixture(name)));
    }
}

#[test]
fn every_step_has_a_row_that_names_it_and_its_line() {
    for name in FIXTURES {
        let trace = fixture(name);
        let drawing = svg_unstyled(&trace);
        for (i, step) in trace.steps.iter().enumerate() {
            let mut row = format!("data-step=\"{}\"", i + 1);
            if let Some(source) = &step.source {
                row += &format!(" data-line=\"{}\"", source.line);
            }
            let found = drawing.matches(&format!("{row}>")).count();
            assert_eq!(found, 1, "{name}: {row}");
        }
    }
}

#[test]
fn every_message_is_an_arrow_and_every_loss_a_cross() {
    for name in FIXTURES {
        let trace = fixture(name);
        let drawing = svg_unstyled(&trace);
        let count =
            |wanted: fn(&Event) -> bool| trace.steps.iter().filter(|s| wanted(&s.event)).count();
        let requests = count(|e| matches!(e, Event::Send { .. }));
        let replies = count(|e| matches!(e, Event::Execute { .. }));
        let arrows = drawing.matches("data-from=").count();
        assert_eq!(arrows, requests + replies, "{name}");
        let lost = count(|e| {
            matches!(
                e,
                Event::Fail { .. }
                    | Event::Fault {
                        fault: FaultEvent::Lose { .. }
                    }
            )
        });
        assert_eq!(drawing.matches(" lost\" data-from").count(), lost, "{name}");
        let ignored = count(|e| matches!(e, Event::Deliver { ignored: true, .. }));
        assert_eq!(
            drawing.matches(" ign\" data-from").count(),
            ignored,
            "{name}"
        );
    }
}

#[test]
fn a_delay_is_as_long_as_the_rows_that_it_lasts() {
    let drawing = svg_unstyled(&fixture("token-lost-replies"));
    // Sent in step 2, executed in step 18, ignored in step 21.
    assert!(drawing.contains("data-from=\"2\" data-to=\"18\""));
    assert!(drawing.contains("ign\" data-from=\"18\" data-to=\"21\""));
}

#[test]
fn believing_is_an_outline_and_validity_its_filling() {
    let trace = fixture("every-fault");
    let drawing = svg_unstyled(&trace);
    let legend = (2, 1);
    let bars = |class: &str| drawing.matches(&format!("{class}\"")).count();
    assert_eq!(
        bars("belief") - legend.0,
        2,
        "A and B believe, C never does"
    );
    assert_eq!(bars("valid") - legend.1, 2);
    // A's validity ends before its belief does, so its filling is shorter.
    let height = |class: &str| -> i32 {
        let at = drawing.find(class).unwrap();
        let rest = &drawing[at..];
        let from = rest.find("height=\"").unwrap() + 8;
        rest[from..].split('"').next().unwrap().parse().unwrap()
    };
    assert!(height("c0 valid") < height("c0 belief"));
}

#[test]
fn violations_are_marked_in_words() {
    let drawing = svg_unstyled(&fixture("redlock-amnesia"));
    assert!(drawing.contains("✗ violates mutual-exclusion-validity</text>"));
    assert!(
        drawing.contains("class=\"vt also\""),
        "the one not asked for"
    );
}

#[test]
fn it_says_what_it_is_to_those_who_do_not_see_it() {
    let drawing = svg(&fixture("redlock-amnesia"));
    assert!(drawing.contains("role=\"img\""));
    assert!(drawing.contains("<title>How redlock violates mutual-exclusion-validity</title>"));
    assert!(drawing.contains("<desc>Space-time diagram"));
}

#[test]
fn texts_of_a_trace_cannot_become_markup() {
    let mut trace = fixture("setnx-expire-late-del");
    let evil = "</text></svg><script>alert(1)</script>\u{1}\"'&";
    trace.lock.name = evil.into();
    for step in &mut trace.steps {
        step.violates.iter_mut().for_each(|v| *v = evil.into());
        if let Event::Send { argv, .. } = &mut step.event {
            argv[0] = evil.into();
        }
    }
    let drawing = svg(&trace);
    assert!(!drawing.contains("<script"));
    assert!(!labels(&drawing).0.is_empty(), "still well-formed");
}

#[test]
fn colours_are_variables_that_a_page_may_set() {
    for line in STYLE.lines().filter(|l| !l.contains("--d-bg")) {
        assert!(!line.contains('#'), "a fixed colour: {line}");
    }
    let drawing = svg_unstyled(&fixture("every-fault"));
    assert!(!drawing.contains("fill=\"#") && !drawing.contains("style="));
    assert!(!drawing.contains(" id="), "two diagrams may share a page");
}
