//! The page of a free run: small enough, true to its history, usable in a browser.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::browser::Browser;
use lockproof_history::timeline::{
    CLIENTS_MAX, Detail, FAULTS_MAX, MARKS_MAX, MarkKind, Timeline, VIOLATIONS_MAX, timeline,
};
use lockproof_history::{JudgeOptions, Judgement, Reader, judge};
use lockproof_report::run::{RunPage, Struck, run_page};
use serde_json::json;

/// A history in the making. Times in µs.
struct Made {
    text: String,
}

impl Made {
    fn new(ttl_ms: u64, clients: u32) -> Made {
        let header = json!({
            "schema": "lockproof.history/1", "lock": "token", "workload": "guarded-set",
            "ttl_ms": ttl_ms, "clients": clients, "nodes": 1, "seed": 7, "scenario": "gc-pause",
            "versions": { "redis": "7.0.15" },
        });
        Made {
            text: format!("{header}\n"),
        }
    }

    fn say(&mut self, at_us: u64, process: u32, kind: &str, f: &str, value: serde_json::Value) {
        let event = json!({
            "time": at_us * 1000, "process": process, "type": kind, "f": f, "value": value,
        });
        writeln!(self.text, "{event}").unwrap();
    }

    fn nemesis(&mut self, at_us: u64, f: &str, value: serde_json::Value) {
        let event = json!({
            "time": at_us * 1000, "process": "nemesis", "type": "info", "f": f, "value": value,
        });
        writeln!(self.text, "{event}").unwrap();
    }

    /// An acquire that is granted for as long as the lease.
    fn acquire(&mut self, client: u32, from: u64, to: u64) {
        self.say(
            from,
            client,
            "invoke",
            "acquire",
            json!({ "token": "t", "key": "lock" }),
        );
        self.say(
            to,
            client,
            "ok",
            "acquire",
            json!({ "validity_ms": 1999, "fence": null }),
        );
    }

    fn refused(&mut self, client: u32, from: u64, to: u64) {
        self.say(
            from,
            client,
            "invoke",
            "acquire",
            json!({ "token": "t", "key": "lock" }),
        );
        self.say(to, client, "fail", "acquire", json!(null));
    }

    fn release(&mut self, client: u32, from: u64, to: u64) {
        self.say(from, client, "invoke", "release", json!(null));
        self.say(to, client, "ok", "release", json!({ "effect": true }));
    }
}

/// `rounds` rounds of `clients`: each in its turn acquires, the next is refused
/// meanwhile. Every 4000th hold outlasts its turn, so that the next one overlaps.
fn long_history(rounds: u64, clients: u32) -> String {
    let mut made = Made::new(2000, clients);
    const ROUND: u64 = 2_000;
    for round in 0..rounds {
        let at = round * ROUND;
        let client = (round % u64::from(clients)) as u32;
        let other = (client + 1) % clients;
        if round % 8000 == 3000 {
            let value = json!({ "phase": "start", "fault": "client-pause", "id": round,
                "details": { "clients": [client] } });
            made.nemesis(at, "client-pause", value);
        }
        if round % 8000 == 4500 {
            let value = json!({ "phase": "end", "fault": "client-pause", "id": round - 1500 });
            made.nemesis(at, "client-pause", value);
        }
        made.acquire(client, at + 10, at + 200 + round % 90);
        made.refused(other, at + 300, at + 420);
        let overlaps = round % 4000 == 3999;
        if !overlaps {
            made.release(client, at + 1_500, at + 1_640);
        }
        if round % 4000 == 0 && round > 0 {
            let before = (client + clients - 1) % clients;
            made.release(before, at + 1_700, at + 1_800);
        }
    }
    made.text
}

fn judged(text: &str) -> Judgement {
    let options = JudgeOptions { examples: 200 };
    judge(Reader::new(text.as_bytes()).unwrap(), &options).unwrap()
}

fn drawn(text: &str) -> (Judgement, Timeline) {
    let judgement = judged(text);
    let drawn = timeline(Reader::new(text.as_bytes()).unwrap(), &judgement).unwrap();
    (judgement, drawn)
}

fn rendered(judgement: &Judgement, timeline: &Timeline) -> String {
    run_page(&RunPage {
        judgement,
        timeline,
        strikes: None,
        model: &[("mutual-exclusion-belief".into(), "violated")],
        history: "seed-7.history.jsonl",
        tool_version: "0.1.0",
        command: Some("lockproof torture gc-pause --lock token --runs 1 --seed 7"),
        report: Some("../report.html"),
    })
    .unwrap()
}

/// The page of a run in which two clients held together.
pub(crate) fn of_a_violation() -> String {
    page(&long_history(40, 3))
}

fn page(text: &str) -> String {
    let (judgement, timeline) = drawn(text);
    rendered(&judgement, &timeline)
}

fn kinds(timeline: &Timeline, client: usize, kind: MarkKind) -> Vec<(u64, u64)> {
    let marks = timeline.clients[client].marks.iter();
    marks
        .filter(|mark| mark.kind == kind)
        .map(|mark| (mark.from / 1000, mark.to / 1000))
        .collect()
}

#[test]
fn a_page_says_whom_each_fault_met_and_that_a_run_without_any_is_no_evidence() {
    let mut made = Made::new(2000, 2);
    let fault = |phase: &str, id: u64| json!({ "phase": phase, "fault": "client-pause", "id": id, "details": { "clients": [1] } });
    made.nemesis(100, "client-pause", fault("start", 0));
    made.nemesis(200, "client-pause", fault("end", 0));
    made.nemesis(300, "client-pause", fault("start", 1));
    made.nemesis(400, "client-pause", fault("end", 1));
    made.acquire(0, 500, 600);
    let (judgement, timeline) = drawn(&made.text);
    let strike = |at, struck, words| Struck {
        fault: "client-pause",
        at,
        struck,
        words,
    };
    let page = |strikes: Option<&[Struck<'_>]>| {
        run_page(&RunPage {
            judgement: &judgement,
            timeline: &timeline,
            strikes,
            model: &[],
            history: "x.jsonl",
            tool_version: "0.1.0",
            command: None,
            report: None,
        })
        .unwrap()
    };
    let missed = strike(100_000, false, "it concerned nobody");
    let met = strike(300_000, true, "client 1 held the lock");
    let text = page(Some(&[missed, met]));
    assert!(text.contains("<b>2</b> faults, 1 of 2 struck"));
    assert!(text.contains("missed: it concerned nobody"));
    assert!(text.contains("<td>client 1 held the lock</td>"));
    assert!(!text.contains("no evidence"));
    let text = page(Some(&[missed]));
    assert!(text.contains("<b>no evidence</b>: no fault struck"));
    let text = page(Some(&[]));
    assert!(
        text.contains("no evidence"),
        "none of the planned ones began"
    );
    let text = page(None);
    assert!(!text.contains("no evidence") && !text.contains("whom it met"));
}

#[test]
fn a_small_history_is_drawn_whole() {
    let mut made = Made::new(2000, 2);
    made.acquire(0, 100, 300);
    made.nemesis(
        400,
        "client-pause",
        json!({ "phase": "start", "fault": "client-pause", "id": 0,
        "details": { "clients": ["some-client"] } }),
    );
    made.nemesis(
        410,
        "client-pause",
        json!({ "phase": "started", "fault": "client-pause", "id": 0,
        "details": { "clients": [0] } }),
    );
    made.refused(1, 500, 600);
    made.acquire(1, 2_100_000, 2_100_300);
    made.nemesis(
        2_500_000,
        "client-pause",
        json!({ "phase": "end", "fault": "client-pause", "id": 0 }),
    );
    made.say(2_500_100, 0, "info", "stall", json!({ "gap_ms": 2400 }));
    made.release(0, 2_500_200, 2_500_300);
    made.nemesis(2_600_000, "crash", json!({ "client": 1 }));
    let (judgement, timeline) = drawn(&made.text);

    assert_eq!(timeline.detail, Detail::Whole);
    assert_eq!(timeline.clients.len(), 2);
    assert_eq!(kinds(&timeline, 0, MarkKind::Attempt), [(100, 300)]);
    assert_eq!(kinds(&timeline, 0, MarkKind::Held), [(300, 2_500_200)]);
    assert_eq!(kinds(&timeline, 0, MarkKind::Valid), [(100, 1_999_100)]);
    assert_eq!(kinds(&timeline, 0, MarkKind::Stall), [(100_100, 2_500_100)]);
    assert_eq!(
        kinds(&timeline, 1, MarkKind::Held),
        [(2_100_300, 2_600_000)],
        "until it died"
    );
    assert_eq!(
        kinds(&timeline, 1, MarkKind::Crash),
        [(2_600_000, 2_600_000)]
    );
    assert_eq!(
        (timeline.clients[1].acquired, timeline.clients[1].refused),
        (1, 1)
    );

    let [fault] = timeline.faults.as_slice() else {
        panic!("{:?}", timeline.faults);
    };
    assert_eq!((fault.from, fault.to), (400_000, 2_500_000_000));
    assert_eq!(
        (fault.name.as_str(), fault.target.as_str()),
        ("client-pause", "clients 0")
    );

    assert_eq!(timeline.violations.len(), 2, "{:?}", judgement.findings);
    let violation = &timeline.violations[0];
    assert_eq!(violation.oracle, "mutual-exclusion-belief");
    assert_eq!(violation.clients, [0, 1]);
    assert_eq!(
        violation.span,
        (300_000, 2_100_300_000),
        "from the first hold to the second"
    );
    let text = rendered(&judgement, &timeline);
    assert!(text.contains("drawn as"), "it says what is drawn");
    assert!(text.contains("observed 1 in 2"));
    // All of it stands in tables, for readers without scripts or without eyes.
    assert!(text.contains("client 1 acquired (line 9) while client 0 held (line 3)"));
    assert!(text.contains("<td>clients 0</td><td>0.000 s</td><td>2.500 s</td>"));
}

#[test]
fn an_acquire_that_nobody_knows_of_is_drawn_as_a_perhaps() {
    let mut made = Made::new(2000, 1);
    made.say(
        100,
        0,
        "invoke",
        "acquire",
        json!({ "token": "t", "key": "lock" }),
    );
    made.say(500, 0, "info", "acquire", json!(null));
    made.refused(0, 900, 1_000);
    let (_, timeline) = drawn(&made.text);
    assert_eq!(kinds(&timeline, 0, MarkKind::PerhapsHeld), [(100, 900)]);
    assert_eq!(timeline.clients[0].unknown, 1);
}

#[test]
fn a_hundred_thousand_operations_are_less_than_five_megabytes() {
    let text = long_history(34_000, 5);
    let began = Instant::now();
    let (judgement, timeline) = drawn(&text);
    let page = rendered(&judgement, &timeline);
    eprintln!(
        "{} operations, {} marks, {} bytes, judged and drawn in {:?}",
        judgement.operations,
        timeline.marks,
        page.len(),
        began.elapsed()
    );
    assert!(judgement.operations > 100_000, "{}", judgement.operations);
    assert!(page.len() < 5 << 20, "{}", page.len());
    assert!(timeline.marks <= MARKS_MAX);
    let Detail::Around(spans) = &timeline.detail else {
        panic!("so many are not drawn one by one");
    };
    for violation in &timeline.violations {
        assert!(
            spans
                .iter()
                .any(|(from, to)| *from <= violation.time && violation.time < *to),
            "the time around {violation:?} is drawn in full"
        );
    }
    // Each overlap is one of belief, one of validity, and one release that speaks of a lock that it had not.
    assert_eq!(timeline.violations.len(), 3 * 8);
    assert!(page.contains(" operations, drawn as"));
    assert!(
        page.contains("The history has all of them"),
        "it says that it is not all"
    );
    // Where nothing is drawn one by one, shares tell the same time.
    let shares: f32 = timeline
        .clients
        .iter()
        .flat_map(|row| row.shares.values())
        .map(|s| s.held)
        .sum();
    let held = shares as f64 * timeline.slice_ns as f64;
    let outside =
        timeline.duration_ns as f64 - spans.iter().map(|(a, b)| (b - a) as f64).sum::<f64>();
    let share = held / outside;
    assert!(
        (0.5..0.8).contains(&share),
        "about 1.25 of 2 ms are held: {share}"
    );
}

#[test]
fn the_same_history_makes_the_same_page() {
    let text = long_history(9_000, 3);
    assert_eq!(page(&text), page(&text));
}

#[test]
fn no_history_makes_a_page_too_large() {
    // More clients, faults and violations than can be drawn.
    let mut made = Made::new(20, 5000);
    for client in 0..6_000u32 {
        let at = u64::from(client) * 1_000;
        let name = "fault-".to_owned() + &"x".repeat(5_000);
        let value =
            json!({ "phase": "start", "fault": name, "id": client, "details": { "whom": name } });
        made.nemesis(at, "fault", value);
        made.acquire(client, at + 10, at + 20);
        made.acquire(client, at + 30, at + 40);
    }
    let (judgement, timeline) = drawn(&made.text);
    assert_eq!(timeline.clients.len(), CLIENTS_MAX);
    assert_eq!(timeline.clients_hidden, 6_000 - CLIENTS_MAX as u64);
    assert_eq!(timeline.faults.len(), FAULTS_MAX);
    assert_eq!(timeline.faults_hidden, 6_000 - FAULTS_MAX as u64);
    assert!(timeline.violations.len() <= VIOLATIONS_MAX);
    assert!(timeline.violations_hidden > 10_000);
    let page = rendered(&judgement, &timeline);
    assert!(page.len() < 5 << 20, "{}", page.len());
}

#[test]
fn no_number_and_no_text_is_too_large() {
    let long = "x".repeat(1 << 20);
    let header = json!({
        "schema": "lockproof.history/1", "lock": long, "workload": long, "ttl_ms": i64::MAX,
        "clients": u32::MAX, "nodes": u32::MAX, "seed": u64::MAX, "scenario": long,
        "versions": { "redis": long },
    });
    let mut made = Made {
        text: format!("{header}\n"),
    };
    made.acquire(u32::MAX, 1, 2);
    made.acquire(0, 3, 4);
    made.say(5, 0, "info", "stall", json!({ "gap_ms": 1e300 }));
    made.say(6, 0, "invoke", "add", json!({ "element": long }));
    made.say(7, 0, "ok", "add", json!(null));
    let end = u64::MAX - 5;
    let last = json!({ "time": end, "process": "harness", "type": "ok", "f": "final-set", "value": { "elements": [] } });
    writeln!(made.text, "{last}").unwrap();
    let (judgement, timeline) = drawn(&made.text);
    assert_eq!(timeline.duration_ns, end);
    let page = rendered(&judgement, &timeline);
    assert!(page.len() < 1 << 20, "{}", page.len());
    assert!(
        !page.contains("NaN") && !page.contains("inf"),
        "every figure is one"
    );
}

#[test]
fn a_history_without_operations_has_a_page() {
    let mut made = Made::new(2000, 1);
    assert!(page(&made.text).contains("incomplete: it has no end"));
    made.text +=
        r#"{"time":0,"process":"harness","type":"info","f":"end","value":{"complete":true}}"#;
    made.text += "\n";
    let text = page(&made.text);
    assert!(text.contains("nothing to judge") && !text.contains("incomplete"));
    assert!(
        !text.contains("NaN") && !text.contains("inf\""),
        "no figure of nothing"
    );
}

// --- in a browser ------------------------------------------------------------

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn file(name: &str, page: &str) -> PathBuf {
    let file = target().join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    file
}

/// From and length of what the time line shows, in ms.
fn window(browser: &Browser) -> (f64, f64) {
    let script = "const v = document.querySelector('#rows').viewBox.baseVal; return [v.x, v.width]";
    let found = browser.run(script);
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
}

/// The window is the whole run, as exactly as a browser's numbers are.
fn whole((from, width): (f64, f64), end: f64) -> bool {
    from == 0.0 && (width - end).abs() < 0.1
}

mod in_a_browser {
    use super::*;

    #[test]
    fn a_long_run_opens_and_jumps_to_its_first_violation() {
        let browser = Browser::start();
        let text = long_history(34_000, 5);
        let (judgement, timeline) = drawn(&text);
        let path = file("run-long", &rendered(&judgement, &timeline));
        browser.prefer("light");
        let began = Instant::now();
        browser.open(&path);
        let opened = began.elapsed();
        let rows = browser.run("return document.querySelectorAll('#rows .row').length");
        assert_eq!(rows, 5, "one row a client");
        assert!(opened.as_secs() < 5, "it opens at once, not in {opened:?}");
        let end = timeline.duration_ns as f64 / 1e6;
        assert!(whole(window(&browser), end));
        browser.screenshot(&target().join("run-long-light.png"));

        browser.click("#jump");
        let (from, width) = window(&browser);
        let first = timeline.violations[0].time as f64 / 1e6;
        assert!(
            from <= first && first <= from + width,
            "{from} + {width}: {first}"
        );
        assert!(width < end / 10.0, "it is close: {width} of {end}");
        // Latencies move along, and the row in the table is marked.
        let script = "return document.querySelector('#latency').viewBox.baseVal.x";
        assert_eq!(browser.run(script).as_f64().unwrap(), from);
        assert_eq!(
            browser.run("return document.querySelector('#violations tr.on').id"),
            "v0"
        );
        browser.screenshot(&target().join("run-long-first.png"));

        browser.press("n");
        assert_eq!(
            browser.run("return document.querySelector('#violations tr.on').id"),
            "v1"
        );
        browser.run("document.querySelector('#chart').focus()");
        let (before, _) = window(&browser);
        browser.press("\u{e014}");
        assert!(window(&browser).0 > before, "the arrow moves it");
        browser.press("-");
        assert!(window(&browser).1 > width);
        browser.press("0");
        assert!(whole(window(&browser), end));
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }

    const EVIL: &str = "</script><script>window.pwned=1</script>\"'><img src=x onerror=window.pwned=2>\
    </title></style><svg onload=window.pwned=3>{{ 7*7 }}";

    #[test]
    fn nothing_in_a_history_becomes_markup_or_script() {
        let browser = Browser::start();
        let header = json!({
            "schema": "lockproof.history/1", "lock": EVIL, "workload": EVIL, "ttl_ms": 2000, "clients": 1,
            "nodes": 1, "seed": 1, "scenario": EVIL, "versions": { EVIL: EVIL }, "params": { EVIL: 1.5 },
        });
        let mut made = Made {
            text: format!("{header}\n"),
        };
        let value =
            json!({ "phase": "start", "fault": EVIL, "id": 1, "details": { EVIL: [EVIL] } });
        made.nemesis(100, EVIL, value);
        made.acquire(0, 200, 300);
        made.acquire(1, 400, 500);
        made.say(600, 1, "invoke", "add", json!({ "element": EVIL }));
        made.say(700, 1, "ok", "add", json!(null));
        let last = json!({ "time": 800_000, "process": "harness", "type": "ok", "f": "final-set", "value": { "elements": [] } });
        writeln!(made.text, "{last}").unwrap();
        let (judgement, timeline) = drawn(&made.text);
        let text = run_page(&RunPage {
            judgement: &judgement,
            timeline: &timeline,
            strikes: Some(&[Struck {
                fault: EVIL,
                at: 100_000,
                struck: false,
                words: EVIL,
            }]),
            model: &[],
            history: EVIL,
            tool_version: EVIL,
            command: Some(EVIL),
            report: None,
        })
        .unwrap();
        browser.open(&file("run-evil", &text));
        browser.click("#jump");
        assert_eq!(browser.run("return window.pwned || 0"), 0);
        assert_eq!(
            browser.run("return document.scripts.length + document.images.length"),
            1,
            "our own script and nothing else"
        );
        let shown =
            browser.run("return document.querySelector('#faults th[scope=row]').textContent");
        assert!(
            EVIL.starts_with(shown.as_str().unwrap().trim_end()),
            "as it is: {shown}"
        );
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }
}
