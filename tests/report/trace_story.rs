//! The story of a trace reads well and says everything that happened.

use std::path::Path;

use lockproof_trace::{Event, Real, Story, Trace, read, story};

const FIXTURES: [&str; 4] = [
    "setnx-expire-late-del",
    "redlock-amnesia",
    "token-lost-replies",
    "every-fault",
];

fn fixture(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"));
    read(&path).expect("the fixture is a valid trace")
}

const REPLAY: &str = "lockproof replay counterexample.json";

fn options(width: usize) -> Story<'static> {
    Story {
        width,
        replay: Some(REPLAY),
        meaning: Some("No release by a client ends another client's hold."),
        ..Story::default()
    }
}

#[test]
fn late_del_reads_as_a_story() {
    insta::assert_snapshot!(story(&fixture("setnx-expire-late-del"), &options(110)));
}

#[test]
fn redlock_amnesia_reads_as_a_story() {
    insta::assert_snapshot!(story(&fixture("redlock-amnesia"), &options(110)));
}

#[test]
fn lost_replies_read_as_a_story_on_a_narrow_page() {
    insta::assert_snapshot!(story(&fixture("token-lost-replies"), &options(72)));
}

#[test]
fn every_fault_has_words() {
    insta::assert_snapshot!(story(&fixture("every-fault"), &options(100)));
}

#[test]
fn no_line_is_wider_than_the_page_except_the_command_to_copy() {
    for name in FIXTURES {
        for width in [40, 60, 83, 84, 100, 140] {
            let text = story(&fixture(name), &options(width));
            for line in text.lines().filter(|l| !l.contains(REPLAY)) {
                let columns = line.chars().count();
                assert!(columns <= width, "{name} at {width}: {columns} in {line:?}");
            }
        }
    }
}

/// As many texts as there are steps that agreed.
fn replayed(trace: &Trace, agreed: usize) -> Vec<String> {
    let text = |step: usize| match &trace.steps[step].event {
        Event::Execute { reply, .. } => lockproof_trace::words::reply(reply),
        Event::Fault { .. } => "SIGKILL to process 1234567, and started again".to_string(),
        _ => String::new(),
    };
    (0..agreed).map(text).collect()
}

#[test]
fn what_really_happened_stands_beside_what_was_predicted() {
    let trace = fixture("redlock-amnesia");
    let agreed = replayed(&trace, trace.steps.len());
    let real = Some(Real {
        agreed: &agreed,
        ended: None,
    });
    insta::assert_snapshot!(story(
        &trace,
        &Story {
            real,
            ..options(110)
        }
    ));
}

#[test]
fn a_replay_that_diverges_is_told_up_to_the_step_that_did() {
    let trace = fixture("setnx-expire-late-del");
    let agreed = replayed(&trace, 7);
    let real = Some(Real {
        agreed: &agreed,
        ended: Some("the reply 17"),
    });
    let told = story(
        &trace,
        &Story {
            real,
            ..options(110)
        },
    );
    assert!(told.trim_end().ends_with("✗ the reply 17"), "{told}");
    assert!(!told.contains("✗ violates"), "nothing was reached:\n{told}");
    assert_eq!(numbers(&told), (1..=8).collect::<Vec<_>>());
}

#[test]
fn a_replay_fits_the_page_too() {
    for name in FIXTURES {
        let trace = fixture(name);
        for (width, agreed) in [
            (40, 3),
            (83, 5),
            (84, 5),
            (100, 4),
            (140, trace.steps.len()),
        ] {
            let agreed = replayed(&trace, agreed.min(trace.steps.len()));
            let ended =
                Some("it sends to N1: SET something that is much longer than any line can be");
            let real = Some(Real {
                agreed: &agreed,
                ended,
            });
            let text = story(
                &trace,
                &Story {
                    real,
                    ..options(width)
                },
            );
            for line in text.lines().filter(|l| !l.contains(REPLAY)) {
                let columns = line.chars().count();
                assert!(columns <= width, "{name} at {width}: {columns} in {line:?}");
            }
        }
    }
}

#[test]
fn colour_only_adds_escape_sequences() {
    for name in FIXTURES {
        let plain = story(&fixture(name), &options(100));
        let coloured = story(
            &fixture(name),
            &Story {
                colour: true,
                ..options(100)
            },
        );
        assert!(!plain.contains('\u{1b}'));
        assert!(coloured.contains('\u{1b}'));
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }
}

#[test]
fn every_step_has_its_number_and_quiet_ticks_share_a_line() {
    for name in FIXTURES {
        let trace = fixture(name);
        let text = story(&trace, &options(100));
        assert_eq!(numbers(&text), (1..=trace.steps.len()).collect::<Vec<_>>());
        for (i, step) in trace.steps.iter().enumerate() {
            let number = format!("{:>4} ", i + 1);
            let found = text.lines().filter(|l| l.starts_with(&number)).count();
            let tick = step.event == Event::Tick;
            assert!(found == 1 || (tick && found == 0), "{name}, step {}", i + 1);
        }
    }
}

/// The steps that a story's lines stand for.
fn numbers(story: &str) -> Vec<usize> {
    let mut all = Vec::new();
    for line in story.lines() {
        let start: String = line.chars().take(5).collect();
        let Ok(last) = start.trim().parse::<usize>() else {
            continue;
        };
        let first = line.split_once("steps ").and_then(|(_, rest)| {
            let (first, _) = rest.split_once(" to ")?;
            first.parse().ok()
        });
        all.extend(first.unwrap_or(last)..=last);
    }
    all
}

#[test]
fn a_terminal_cannot_be_taken_over_by_a_trace() {
    let mut trace = fixture("setnx-expire-late-del");
    trace.lock.name = "evil\u{1b}]0;title\u{7}".into();
    for step in &mut trace.steps {
        if let Event::Send { argv, .. } = &mut step.event {
            argv[1] = "\u{1b}[2J\u{202e}".into();
        }
        if let Some(source) = &mut step.source {
            source.text = "\r\u{1b}[1A hidden".into();
        }
    }
    let text = story(&trace, &options(100));
    assert!(
        text.chars()
            .all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')),
        "{text:?}"
    );
}
