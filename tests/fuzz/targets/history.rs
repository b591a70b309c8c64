//! Histories: read, judged, drawn, exported.

use lockproof_history::timeline::timeline;
use lockproof_history::{
    Event, Header, JudgeOptions, Judgement, ReadError, Reader, Writer, export_edn, judge,
};
use lockproof_report::run::{RunPage, run_page};

use super::{Form, Target, line_is_there, no_foreign_tag, same};

pub const TARGET: Target = Target {
    name: "history",
    run,
    form: Form::JsonLines,
    seeds: &[],
    words: &[
        "invoke",
        "ok",
        "fail",
        "info",
        "acquire",
        "release",
        "execute",
        "write",
        "read",
        "add",
        "take",
        "draw",
        "setup",
        "start",
        "stop",
        "node-0",
        "nemesis",
        "harness",
        "hold",
        "coupon",
        "lottery",
        "guarded-set",
        "lock",
        "token",
        "fence",
        "validity_ms",
        "reentrant",
        "client-pause",
        "crash",
        "stall",
        "left",
        "id",
        "argv",
        "reply",
        "key",
        "lost",
        "renew",
        "<script>",
        "\\u001b",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    let reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return there(&error, input),
    };
    let header = reader.header().clone();
    let events: Result<Vec<Event>, ReadError> = reader.collect();
    match &events {
        Ok(events) => written_again(&header, events),
        Err(error) => there(error, input),
    }
    exported(input, events.as_ref().ok().map(Vec::len));
    match judge(again(input), &JudgeOptions::default()) {
        Ok(judgement) => judged(input, &judgement),
        Err(error) => there(&error, input),
    }
}

fn again(input: &[u8]) -> Reader<&[u8]> {
    Reader::new(input).expect("its header could be read")
}

fn there(error: &ReadError, input: &[u8]) {
    line_is_there(error.line as usize, input);
    assert!(error.to_string().starts_with("line "));
}

fn written_again(header: &Header, events: &[Event]) {
    let mut text = Vec::new();
    let mut writer = Writer::create(&mut text, header).expect("memory takes everything");
    for event in events {
        writer.append(event).expect("memory takes everything");
    }
    drop(writer);
    let read = Reader::new(text.as_slice()).expect("our own header");
    same("the header", header, read.header());
    let read: Vec<Event> = read.collect::<Result<_, _>>().expect("our own events");
    same("events written and read again", &events, &read.as_slice());
}

fn exported(input: &[u8], events: Option<usize>) {
    let mut text = Vec::new();
    let done = export_edn(&mut again(input), &mut text);
    if let Some(events) = events {
        let count = done.expect("it can be read");
        assert_eq!(count as usize, events);
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // One that is not whole is told so in a line more.
        let more = lines.checked_sub(events);
        assert!(matches!(more, Some(0 | 1)), "one line an event");
    }
}

fn judged(input: &[u8], judgement: &Judgement) {
    let options = JudgeOptions::default();
    let twice = judge(again(input), &options).expect("it could be judged");
    same("judged twice", judgement, &twice);
    let text = serde_json::to_string(judgement).expect("a judgement can be written");
    let read: Judgement = serde_json::from_str(&text).expect("and read again");
    same("a judgement written and read again", judgement, &read);
    for finding in &judgement.findings {
        assert!(finding.examples.len() <= options.examples);
        for line in finding.examples.iter().flat_map(|one| &one.lines) {
            line_is_there(*line as usize, input);
        }
    }
    let timeline = timeline(again(input), judgement).expect("what the judge accepts");
    let page = run_page(&RunPage {
        judgement,
        timeline: &timeline,
        model: &[],
        strikes: None,
        history: "history.jsonl",
        tool_version: "0",
        command: None,
        report: None,
    });
    no_foreign_tag("the page of a run", &page.expect("a page"), 1);
}
