//! Asks the program about a file, and compares what it says with the truth.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::head::{Answer, Check, Truth};

/// No check may take longer; most take a second.
const LIMIT: Duration = Duration::from_secs(120);

/// Exit codes, as `--help` tells them.
const ANSWERED: [i32; 3] = [0, 1, 2];
const USAGE: i32 = 64;

/// What the program said.
#[derive(Debug)]
pub enum Said {
    Answers {
        results: Vec<Value>,
        warnings: String,
    },
    /// It refused the file, with this message.
    Refused(String),
    /// It failed itself, or did not end.
    Broken(String),
}

/// Runs one check; how long it took, in seconds.
pub fn ask(path: &Path, arguments: &[String]) -> (Said, f64) {
    let started = Instant::now();
    let [mut out, mut err] = [(); 2].map(|()| tempfile::tempfile().unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockproof"))
        .arg("check")
        .arg(path)
        .args(arguments)
        .args(["--format", "json", "--workers", "1"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(err.try_clone().unwrap())
        .spawn()
        .unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let [out, err] = [&mut out, &mut err].map(|file| {
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    });
    let said = match status {
        None => Said::Broken(format!("no answer in {} s", LIMIT.as_secs())),
        Some(status) => match status.code() {
            Some(code) if ANSWERED.contains(&code) => answers(&out),
            Some(USAGE) => Said::Refused(err),
            _ => Said::Broken(format!("{status}: {err}")),
        },
    };
    (said, started.elapsed().as_secs_f64())
}

fn answers(out: &str) -> Said {
    let report: Value = serde_json::from_str(out).unwrap_or_default();
    match report["results"].as_array() {
        Some(results) => Said::Answers {
            results: results.clone(),
            warnings: report["warnings"].to_string(),
        },
        None => Said::Broken(format!("this is no report: {out}")),
    }
}

/// What is wrong with the answers, one line each.
pub fn compare(check: &Check, said: &Said) -> Vec<String> {
    if let Said::Broken(what) = said {
        return vec![what.clone()];
    }
    let truths = check.truths.iter();
    truths
        .flat_map(|truth| match truth {
            Truth::Refused { line } => not_refused(*line, said).into_iter().collect(),
            Truth::Warns(words) => does_not_warn(words, said).into_iter().collect(),
            Truth::Of {
                property,
                answer,
                under,
            } => {
                let wrong = |why: String| format!("{property} {}, but {why}", answer.name());
                let found = answered(property, *answer, under.as_deref(), said);
                found.into_iter().map(wrong).collect::<Vec<_>>()
            }
        })
        .collect()
}

/// What is wrong with the answers about one property.
fn answered(property: &str, truth: Answer, under: Option<&str>, said: &Said) -> Vec<String> {
    let results = match said {
        Said::Answers { results, .. } => results,
        Said::Refused(_) if truth == Answer::NotHolds => return Vec::new(),
        Said::Refused(why) | Said::Broken(why) => return vec![format!("it is refused: {why}")],
    };
    let about: Vec<&Value> = results
        .iter()
        .filter(|result| result["property"] == *property)
        .filter(|result| under.is_none_or(|set| *set == set_of(result)))
        .collect();
    match about.is_empty() {
        true => vec!["there is no answer".to_owned()],
        false => about
            .into_iter()
            .filter_map(|result| differs(truth, result))
            .collect(),
    }
}

fn does_not_warn(words: &str, said: &Said) -> Option<String> {
    match said {
        Said::Answers { warnings, .. } if warnings.contains(words) => None,
        Said::Answers { warnings, .. } => Some(format!("warns {words}, but it warns: {warnings}")),
        Said::Refused(why) | Said::Broken(why) => Some(format!("warns {words}, but: {why}")),
    }
}

/// The names of an assumption set, joined.
fn set_of(result: &Value) -> String {
    let none = Vec::new();
    let names: Vec<&str> = result["assumptions"]
        .as_array()
        .unwrap_or(&none)
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    match names[..] {
        [] => "none".to_owned(),
        _ => names.join("+"),
    }
}

/// In words, how an answer differs from the true one.
fn differs(truth: Answer, result: &Value) -> Option<String> {
    let verdict = result["verdict"].as_str().unwrap_or_default();
    let right = match truth {
        Answer::NotHolds => ["violated", "unknown"].contains(&verdict),
        _ => verdict == truth.name(),
    };
    if !right {
        let set = set_of(result);
        let reason = result["reason"].as_str().unwrap_or_default();
        return Some(format!("the answer is {verdict} under {set} {reason}"));
    }
    (verdict == "violated").then(|| shows_another(result))?
}

/// The trace of a violation that is about something else.
fn shows_another(result: &Value) -> Option<String> {
    let (property, trace) = (&result["property"], &result["trace"]);
    if trace["property"] != *property {
        return Some(format!("its trace is about {}", trace["property"]));
    }
    let steps = trace["steps"].as_array()?;
    // What its client does next may stand behind it.
    let ends = |step: &&Value| step["violates"].as_array().is_some_and(|v| !v.is_empty());
    // An endless run violates where its first round ends; more rounds follow.
    let last = match trace["repeats"]["rounds"][1].as_u64() {
        Some(next) => steps.get(next as usize - 2),
        None => steps.iter().rev().find(ends),
    };
    let Some(last) = last else {
        return Some("no step of its trace violates anything".to_owned());
    };
    match last["violates"].as_array() {
        Some(violates) if violates.contains(property) => None,
        _ => Some(format!(
            "its trace ends in a violation of {}",
            last["violates"]
        )),
    }
}

/// In words, how an answer is no refusal that names the line.
fn not_refused(line: Option<u32>, said: &Said) -> Option<String> {
    let reasons: Vec<&str> = match said {
        Said::Refused(why) => vec![why],
        Said::Answers { results, .. } if results.iter().all(|r| r["verdict"] == "unknown") => {
            let reasons = results.iter().map(|result| &result["reason"]);
            reasons
                .map(|why| why.as_str().unwrap_or_default())
                .collect()
        }
        _ => return Some("refused, but there are answers".to_owned()),
    };
    let line = line?;
    let other = reasons.into_iter().find(|why| !names_line(why, line))?;
    Some(format!("refused in line {line}, but it is said: {other}"))
}

/// The text names the line, as `file:12` or as `line 12`.
fn names_line(text: &str, line: u32) -> bool {
    let digits = line.to_string();
    [format!(":{digits}"), format!("line {digits}")]
        .iter()
        .any(|name| {
            text.match_indices(name.as_str()).any(|(at, _)| {
                let next = text[at + name.len()..].chars().next();
                !next.is_some_and(|next| next.is_ascii_digit())
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_trace_of_another_property_is_no_evidence() {
        let result = |property: &str, violates: &str| {
            let trace = json!({ "property": property, "steps": [{ "violates": [violates] }] });
            json!({ "property": "lease", "verdict": "violated", "trace": trace, "assumptions": [] })
        };
        assert_eq!(differs(Answer::Violated, &result("lease", "lease")), None);
        for other in [result("no-orphan", "lease"), result("lease", "no-orphan")] {
            assert!(differs(Answer::Violated, &other).is_some());
            assert!(differs(Answer::NotHolds, &other).is_some());
        }
    }

    #[test]
    fn a_refusal_names_the_line_and_no_other() {
        let refused = |why: &str| not_refused(Some(12), &Said::Refused(why.to_owned()));
        assert_eq!(refused("error: a.lua:12: no"), None);
        assert_eq!(refused("error: a.lua: line 12"), None);
        assert!(refused("error: a.lua:120: no").is_some());
        let answers = |results: &[Value]| Said::Answers {
            results: results.to_vec(),
            warnings: "[]".to_owned(),
        };
        let unknown = json!({ "verdict": "unknown", "reason": "a.lua:12: it asks" });
        let holds = json!({ "verdict": "holds" });
        assert_eq!(
            not_refused(Some(12), &answers(std::slice::from_ref(&unknown))),
            None
        );
        assert!(not_refused(None, &answers(&[unknown, holds])).is_some());
    }
}
