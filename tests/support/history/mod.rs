//! Histories in a few words, and their judgements.

pub mod naive;
pub mod owner_only;

use lockproof_history::{
    Finding, FindingVerdict, JudgeOptions, Judgement, ReadError, Reader, judge,
};

pub const HEADER: &str = r#"{"schema":"lockproof.history/1","lock":"token","workload":"hold","ttl_ms":100,"clients":3,"nodes":1}"#;

/// Writes an event as JSON from `TIME_MS PROCESS TYPE F [VALUE]`.
pub fn event(words: &str) -> String {
    let mut words = words.trim().splitn(5, ' ');
    let mut next = || words.next().unwrap_or_default();
    let time: f64 = next().parse().expect("a time in ms");
    let process = match next() {
        client if client.parse::<u32>().is_ok() => client.to_owned(),
        name => format!("\"{name}\""),
    };
    let (kind, f) = (next(), next());
    let value = match next() {
        "" => "null",
        value => value,
    };
    let time = (time * 1e6) as u64;
    format!(r#"{{"time":{time},"process":{process},"type":"{kind}","f":"{f}","value":{value}}}"#)
}

/// A whole history: a header with these fields changed, and an event a line.
pub fn history(header: &str, events: &str) -> String {
    let mut fields: serde_json::Value = serde_json::from_str(HEADER).unwrap();
    let changed: serde_json::Value = serde_json::from_str(&format!("{{{header}}}")).unwrap();
    for (name, value) in changed.as_object().unwrap() {
        fields[name] = value.clone();
    }
    let events = events.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<String> = events.map(event).collect();
    format!("{fields}\n{}\n", lines.join("\n"))
}

/// The same with commands to server 0 in few words: `TIME cCLIENT send ID WORD ..`,
/// `TIME cCLIENT ok ID REPLY`, `.. fail ID`, `.. info ID`.
pub fn spoken(header: &str, events: &str) -> String {
    let lines: Vec<String> = events.lines().map(command).collect();
    history(header, &lines.join("\n"))
}

fn command(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [time, client, kind, id, rest @ ..] = words.as_slice() else {
        return line.to_owned();
    };
    let Some(client) = client.strip_prefix('c') else {
        return line.to_owned();
    };
    let said = match *kind {
        "send" => format!(",\"argv\":{rest:?}"),
        "ok" => format!(",\"reply\":{}", rest.join(" ")),
        _ => String::new(),
    };
    let kind = kind.replace("send", "invoke");
    format!("{time} node-0 {kind} execute {{\"client\":{client},\"id\":{id}{said}}}")
}

/// A history that came to its end: unless it is torn, or no history, or has an end.
pub fn ended(text: &str) -> String {
    let whole = text.starts_with("{\"") && text.ends_with('\n');
    if !whole || text.contains(r#""f":"end""#) {
        return text.to_owned();
    }
    let time = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        event["time"].as_u64()
    };
    let last = text.lines().filter_map(time).max().unwrap_or_default();
    format!("{text}{}\n", end(last, true))
}

/// The last line of a history.
pub fn end(time_ns: u64, complete: bool) -> String {
    format!(
        r#"{{"time":{time_ns},"process":"harness","type":"info","f":"end","value":{{"complete":{complete}}}}}"#
    )
}

/// Judges a history as one that came to its end.
pub fn try_judge(text: &str) -> Result<Judgement, ReadError> {
    judge_as_it_is(&ended(text))
}

pub fn judge_as_it_is(text: &str) -> Result<Judgement, ReadError> {
    judge(Reader::new(text.as_bytes())?, &JudgeOptions::default())
}

#[track_caller]
pub fn judged(text: &str) -> Judgement {
    try_judge(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn finding<'a>(judgement: &'a Judgement, oracle: &str) -> &'a Finding {
    let mut findings = judgement.findings.iter();
    findings
        .find(|finding| finding.oracle == oracle)
        .unwrap_or_else(|| panic!("no oracle {oracle}"))
}

/// A case with the usual header.
pub fn case(
    name: &'static str,
    events: &'static str,
    verdict: FindingVerdict,
    violations: u64,
) -> Case {
    Case {
        name,
        header: "",
        events,
        verdict,
        violations,
    }
}

/// The same with another header.
pub fn with(header: &'static str, case: Case) -> Case {
    Case { header, ..case }
}

/// A history with the answer that it must get from one oracle.
pub struct Case {
    pub name: &'static str,
    pub header: &'static str,
    pub events: &'static str,
    pub verdict: FindingVerdict,
    pub violations: u64,
}

#[track_caller]
pub fn all_as_known(oracle: &str, cases: &[Case]) {
    for case in cases {
        let text = spoken(case.header, case.events);
        let judgement = judged(&text);
        let found = finding(&judgement, oracle);
        assert_eq!(
            (found.verdict, found.violations),
            (case.verdict, case.violations),
            "{oracle}: {}\n{found:#?}\n{text}",
            case.name
        );
        let examples = found.examples.len() as u64;
        let told = found.verdict == FindingVerdict::Violated;
        assert!(!told || examples > 0, "{oracle}: {}: no example", case.name);
    }
}
