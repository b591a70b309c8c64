//! Every snippet of the guide works: whole files are loaded and driven through
//! acquire and release, fragments run as the body of an acquire.

use crate::lock_support::*;

use lockproof_model::lock::{Input, LockFile, Op, Output, Phase, Program, Waiting};
use lockproof_model::world::may_send;
use lockproof_redis::{Command, Dialect, Reply, commands};
use lockproof_trace::Outcome;

const GUIDE: &str = include_str!("../../docs/lock-files.md");

/// (what follows ```lua, the text, its first line in the guide)
fn snippets() -> Vec<(String, String, usize)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String, usize)> = None;
    for (number, line) in GUIDE.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let kind = language.strip_prefix("lua");
                let kind = kind.unwrap_or_else(|| panic!("line {}: not lua", number + 1));
                open = Some((kind.trim().to_string(), String::new(), number + 2));
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, text, _)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none());
    found
}

const BODY: &str = "acquire = function() return held() end, release = function() return true end }";

/// The table of commands, as the guide shows it.
fn commands_in_the_model() -> String {
    let dialect = Dialect::default();
    let scripted = |command: &&Command| command.allowed_in_script(dialect);
    let row = |what: &str, wanted: &dyn Fn(&Command) -> bool| {
        let names = commands().iter().filter(|command| wanted(command));
        let names: Vec<String> = names
            .map(|c| format!("`{}`", c.name().to_uppercase()))
            .collect();
        format!("| {what} | {} |\n", names.join(", "))
    };
    // These have words of their own, and PUBLISH a row.
    let other = ["eval", "publish", "subscribe", "unsubscribe"];
    let sent = |command: &Command| may_send(command, dialect) && !other.contains(&command.name());
    [
        "| | commands |\n|---|---|\n".to_owned(),
        row("read", &|c| sent(c) && scripted(&c) && !c.writes()),
        row("write", &|c| sent(c) && scripted(&c) && c.writes()),
        row("not in scripts", &|c| sent(c) && !scripted(&c)),
        row("messages", &|c| {
            may_send(c, dialect) && c.name() == "publish"
        }),
        row("Valkey only", &|c| {
            !c.exists_in(dialect) && may_send(c, Dialect::Valkey9)
        }),
    ]
    .concat()
}

#[test]
fn the_guide_lists_the_commands_that_are_in_the_model() {
    let table = commands_in_the_model();
    let begin = GUIDE.find("| | commands |").expect("the table's head");
    let end = begin + GUIDE[begin..].find("\n\n").expect("the table's end") + 1;
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        let written = [&GUIDE[..begin], &table, &GUIDE[end..]].concat();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lock-files.md");
        std::fs::write(path, written).unwrap();
        return;
    }
    assert_eq!(
        &GUIDE[begin..end],
        table,
        "INSTA_UPDATE=always cargo test --test lock guide:: writes the table into docs/lock-files.md"
    );
}

/// A server that grants everything and remembers nothing.
fn grant(argv: &[Vec<u8>]) -> Reply {
    match argv[0].as_slice() {
        b"SET" | b"WATCH" | b"UNWATCH" => ok(),
        b"GET" => bulk("t1"),
        b"DEL" | b"EVAL" | b"EVALSHA" => Reply::Int(1),
        b"MULTI" => Reply::Array(vec![Reply::Int(1)]),
        b"SCRIPT" => bulk(&"0".repeat(40)),
        other => panic!("teach the fake server {}", String::from_utf8_lossy(other)),
    }
}

/// Answers and wakes the caller's thread until its operation ends.
fn finish(p: &mut Program, mut output: Output) -> Outcome {
    for _ in 0..100 {
        if let Some((_, outcome)) = output.outcome {
            return outcome;
        }
        key(p);
        let view = p.view();
        let (_, waiting) = view.threads.iter().find(|(id, _)| *id == 0).unwrap();
        output = match *waiting {
            Waiting::Reply { .. } => {
                let request = output.sent.iter().find(|r| r.thread == 0).unwrap();
                step(p, reply(0, grant(&request.argv)))
            }
            Waiting::Sleep { left_ms } => step(p, advance(left_ms)),
            Waiting::Choice { .. } => step(
                p,
                Input::Choose {
                    thread: 0,
                    value: 1,
                },
            ),
            _ => step(p, wake(0)),
        };
    }
    panic!("the operation does not end");
}

#[test]
fn whole_files_acquire_renew_and_release() {
    let whole: Vec<_> = snippets().into_iter().filter(|s| s.0.is_empty()).collect();
    assert_eq!(whole.len(), 9);
    for (_, text, line) in whole {
        let file = LockFile::from_text(&format!("docs/lock-files.md, line {line} +"), &text, None);
        let file = file.unwrap_or_else(|e| panic!("{e}"));
        let mut p = Program::start(&file, &config(file.nodes.default), "a", CLOCK).unwrap();
        for acquire in acquires(&file, "t1") {
            let out = step(&mut p, acquire);
            let outcome = finish(&mut p, out);
            assert!(matches!(outcome, Outcome::Held { .. }), "{outcome:?}");
            if file.reentrant {
                let out = step(&mut p, nested());
                finish(&mut p, out);
                let out = step(&mut p, release());
                finish(&mut p, out);
            }
            step(&mut p, advance(1_000));
            if file.has(Op::Renew) {
                let call = |op| Input::Call { op, token: None };
                let out = step(&mut p, call(Op::Renew));
                let outcome = finish(&mut p, out);
                assert!(matches!(outcome, Outcome::Held { .. }), "{outcome:?}");
                step(&mut p, call(Op::IsHeld));
                let out = step(&mut p, reply(0, bulk("t1")));
                let effect = Some(true);
                assert_eq!(out.outcome, Some((Op::IsHeld, Outcome::Done { effect })));
            }
            for (thread, _) in p.view().threads {
                let out = step(&mut p, wake(thread));
                assert!(!out.sent.is_empty(), "line {line}: a thread without work");
                step(&mut p, reply(thread, grant(&out.sent[0].argv)));
            }
            let out = step(&mut p, release());
            let outcome = finish(&mut p, out);
            let effect = Some(true);
            assert_eq!(outcome, Outcome::Done { effect }, "line {line}");
            assert_eq!((phase(&p), p.view().threads.len()), (Phase::Idle, 0));
        }
    }
}

#[test]
fn fragments_of_scripts_compile() {
    let parts = snippets();
    let scripts: Vec<_> = parts.iter().filter(|s| s.0 == "script").collect();
    assert_eq!(scripts.len(), 1);
    for (_, text, line) in scripts {
        let file = format!("return {{ scripts = {{ s = [[{text}]] }},\n{BODY}");
        LockFile::from_text("my-lock.lua", &file, None).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
}

#[test]
fn fragments_run_as_the_body_of_an_acquire() {
    let parts = snippets();
    let fragments: Vec<_> = parts.iter().filter(|s| s.0 == "fragment").collect();
    assert_eq!(fragments.len(), 9);
    for (_, text, _) in fragments {
        let mut p = start_text(&format!(
            "return {{ scripts = {{ 'release_if_owner' }}, acquire = function(lock)\n\
             do\n{text}end\nreturn busy()\nend, release = function(lock) end }}"
        ));
        let out = step(&mut p, acquire("t1"));
        assert_eq!(finish(&mut p, out), Outcome::Busy);
    }
}

#[test]
fn a_renewal_that_finds_the_lock_gone_reports_it_lost() {
    let renewed = |snippet: &(String, String, usize)| snippet.1.contains("lost()");
    let found = snippets().into_iter().find(renewed);
    let (_, text, _) = found.expect("the guide has a lock that renews");
    let mut p = start_text(&text);
    let out = step(&mut p, acquire("t1"));
    finish(&mut p, out);
    step(&mut p, advance(1_000));
    step(&mut p, wake(1));
    let out = step(&mut p, reply(1, Reply::Int(0)));
    assert!(out.lost && p.view().threads.is_empty());
    // The caller still has it in its hands, and it is not valid any more.
    assert_eq!((phase(&p), p.view().valid), (Phase::Held, false));
}

#[test]
fn the_guide_lists_every_word_field_and_builtin_script() {
    let mut p = acquiring("local missing = nothing_like_this");
    let error = run_to_error(&mut p);
    assert!(error.contains("docs/lock-files.md"), "{error}");
    let vocabulary = lockproof_model::lock::vocabulary().unwrap();
    assert!(vocabulary.len() > 40, "{vocabulary:?}");
    for word in vocabulary {
        assert!(
            GUIDE.contains(&format!("`{word}")),
            "the guide lacks `{word}`"
        );
    }
}

#[test]
fn the_error_of_an_operation_names_file_and_line() {
    let mut p = acquiring("\nerror('no way')");
    let out = step(&mut p, acquire("t1"));
    let reason = "my-lock.lua:3: no way".to_string();
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Failed { reason })));
    assert_eq!(phase(&p), Phase::Idle);
}
