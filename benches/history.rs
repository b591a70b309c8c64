//! How fast a history is judged: a generated one of a million operations, without
//! and with half a million commands of the lock's, from the file's text to the
//! findings, and how much memory that takes.
//!
//! The text is made first and kept in memory, so that no disk is measured. The
//! peak of the process is told before and after, because the difference is what
//! the judge needs.

use std::io::{BufReader, Write};
use std::time::Instant;

use lockproof_history::{JudgeOptions, Reader, judge};

/// What a free run records of a lock's commands beside the operations: the command
/// with its words, and its reply.
fn command(text: &mut Vec<u8>, time: u64, (client, id): (u64, u64), argv: &str, reply: &str) {
    for (time, kind, rest) in [
        (time + 10_000, "invoke", format!(r#""argv":{argv}"#)),
        (time + 30_000, "ok", format!(r#""reply":{reply}"#)),
    ] {
        writeln!(
            text,
            r#"{{"time":{time},"process":"node-0","type":"{kind}","f":"execute","value":{{"client":{client},"id":{id},{rest}}}}}"#
        )
        .unwrap();
    }
}

/// Five clients take turns at a lock; each holds it for three operations.
fn generate(operations: u64, set: bool, commands: bool) -> Vec<u8> {
    let mut text = Vec::new();
    let header = r#"{"schema":"lockproof.history/1","lock":"token","workload":"hold","ttl_ms":2000,"clients":5,"nodes":1}"#;
    writeln!(text, "{header}").unwrap();
    let mut time = 0u64;
    let mut element = 0u64;
    let mut elements = Vec::new();
    let mut line = |text: &mut Vec<u8>, client: u64, kind: &str, f: &str, value: String| -> u64 {
        time += 50_000;
        writeln!(
            text,
            r#"{{"time":{time},"process":{client},"type":"{kind}","f":"{f}","value":{value}}}"#
        )
        .unwrap();
        time
    };
    for turn in 0..operations / 4 {
        let client = turn % 5;
        let token = format!(r#"{{"token":"t{turn}-5e6f70","key":"lock:a"}}"#);
        let granted = format!(r#"{{"validity_ms":1999,"fence":{turn}}}"#);
        let words = format!(r#"["SET","lock:a","t{turn}-5e6f70","NX","PX","2000"]"#);
        let began = line(&mut text, client, "invoke", "acquire", token);
        let id = (client << 32) + turn / 5 * 2;
        if commands {
            let ok = r#"{"status":"OK"}"#;
            command(&mut text, began, (client, id + 1), &words, ok);
        }
        line(&mut text, client, "ok", "acquire", granted);
        if set {
            for _ in 0..2 {
                let added = format!(r#"{{"element":{element}}}"#);
                elements.push(element);
                element += 1;
                line(&mut text, client, "invoke", "add", added);
                line(&mut text, client, "ok", "add", "null".into());
            }
        } else {
            let (read, wrote) = (turn, turn + 1);
            line(&mut text, client, "invoke", "read", "null".into());
            line(
                &mut text,
                client,
                "ok",
                "read",
                format!(r#"{{"value":{read}}}"#),
            );
            let value = format!(r#"{{"read":{read},"wrote":{wrote}}}"#);
            line(&mut text, client, "invoke", "write", value);
            line(&mut text, client, "ok", "write", "null".into());
        }
        let words = format!(
            r#"["EVAL","sha1:5d1c6f1d3a1c9e77aa0b7f7a2ce0a9a1b2c3d4e5","1","lock:a","t{turn}-5e6f70"]"#
        );
        let began = line(&mut text, client, "invoke", "release", "null".into());
        if commands {
            command(&mut text, began, (client, id + 2), &words, r#"{"int":1}"#);
        }
        line(
            &mut text,
            client,
            "ok",
            "release",
            r#"{"effect":true}"#.into(),
        );
    }
    if set {
        let all = format!(r#"{{"elements":{elements:?}}}"#);
        writeln!(
            text,
            r#"{{"time":{},"process":"harness","type":"ok","f":"final-set","value":{all}}}"#,
            operations * 1_000_000
        )
        .unwrap();
    }
    text
}

/// The most memory this process has had, in MiB.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// Seconds that this thread has run, in contrast to waiting for a busy core.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat
        .split_whitespace()
        .next()
        .and_then(|ns| ns.parse::<f64>().ok());
    ns.unwrap_or(f64::NAN) / 1e9
}

fn main() {
    // `cargo test --benches` runs this without the flag: a short history shows that it works.
    let (operations, rounds) = match std::env::args().any(|argument| argument == "--bench") {
        true => (1_000_000, 3),
        false => (1_000, 1),
    };
    for (name, set, commands) in [
        ("counter", false, false),
        ("guarded set", true, false),
        ("counter, with half as many commands", false, true),
        ("guarded set, with half as many commands", true, true),
    ] {
        let text = generate(operations, set, commands);
        let before = peak_mib();
        let (mut best, mut least_cpu) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..rounds {
            let (start, cpu) = (Instant::now(), cpu_seconds());
            let reader = Reader::new(BufReader::new(text.as_slice())).unwrap();
            let judgement = judge(reader, &JudgeOptions::default()).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            least_cpu = least_cpu.min(cpu_seconds() - cpu);
            assert_eq!(judgement.operations, operations);
            for finding in &judgement.findings {
                assert_eq!(finding.violations, 0, "{finding:#?}");
            }
        }
        println!(
            "{name}: {operations} operations, {:.0} MiB of text: {best:.2} s ({least_cpu:.2} s on the processor), {:.1} million operations/s, {:.1} MiB more memory",
            text.len() as f64 / 1048576.0,
            operations as f64 / best / 1e6,
            peak_mib() - before
        );
    }
}
