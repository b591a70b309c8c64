//! A small report made from the fixture traces, for the tests of its renderings.

use std::collections::BTreeMap;
use std::path::Path;

use lockproof_model::check::Verdict;
use lockproof_report::model::{
    About, Cell, Counterexample, Environment, LockText, Replay, Replays, Report, SCHEMA, Server,
    Sizes, SourceFile, Walks,
};
use lockproof_trace::{Assumption, Trace, read};

pub const FIXTURES: [&str; 4] = [
    "setnx-expire-late-del",
    "redlock-amnesia",
    "token-lost-replies",
    "every-fault",
];

pub fn fixture(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"));
    read(&path).expect("the fixture is a valid trace")
}

const SETNX_EXPIRE: &str = r#"-- SETNX and EXPIRE in two commands; a plain DEL gives the lock back.
return {
  name = "setnx-expire",

  acquire = function(lock)
    if redis("SETNX", lock.key, "locked") == 0 then
      return busy()
    end
    redis("EXPIRE", lock.key, lock.ttl / 1000)
    return held()
  end,
  release = function(lock)
    redis("DEL", lock.key)
    return done()
  end,
}
"#;

const REDLOCK: &str = r#"-- The five steps: the same key and token on N independent servers.
return {
  name = "redlock",
  params = { drift_ms = 100 },

  acquire = function(lock)
    local started = now()
    local votes = 0
    local step = lock.ttl / 10

    for i = 1, lock.nodes do
      -- a short time-out each, so that a dead server costs little
      local left = step
      local reply, err = on(i, {timeout = step}).redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
      -- an unknown outcome is no vote
      votes = votes + (reply and 1 or 0)
    end

    local elapsed = now() - started
    local validity = lock.ttl - elapsed - lock.params.drift_ms
    if votes > lock.nodes / 2 and validity > 0 then
      return held(validity)
    end
    unlock(lock)
    return busy()
  end,
}
"#;

const TOKEN: &str = r#"-- SET NX PX with a token; compare-and-delete.
return {
  acquire = function(lock)
    local ok, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err then return failed(err.message) end
    if ok then
      return held(lock.ttl - (now() - started))
    end
    return busy()
  end,

  release = function(lock)
    local gone = script("release_if_owner", {lock.key}, {lock.token})
    return done(gone == 1)
  end,
}
"#;

const RELEASE: &str = "-- release_if_owner: delete the key if it still carries our token\nif redis.call('get', KEYS[1]) == ARGV[1] then\n  return redis.call('del', KEYS[1])\nend\nreturn 0\n";

fn lock(name: &str, text: &str, script: Option<&str>) -> LockText {
    let file = |path: String, text: &str| SourceFile {
        path,
        text: text.into(),
    };
    let mut files = vec![file(format!("models/{name}.lua"), text)];
    files.extend(script.map(|s| file("lua/release_if_owner.lua".into(), s)));
    LockText {
        name: name.into(),
        path: format!("models/{name}.lua"),
        sha256: "0123456789abcdef".repeat(4),
        description: String::new(),
        about: About::default(),
        warnings: Vec::new(),
        files,
    }
}

fn fault(name: &str, size: u8) -> Assumption {
    Assumption {
        name: name.into(),
        budget: 1,
        size,
    }
}

pub fn sizes(nodes: u8) -> Sizes {
    Sizes {
        clients: 2,
        nodes,
        ttl_ticks: 3,
    }
}

fn cell(lock: &str, property: &str, set: &[Assumption], verdict: Verdict) -> Cell {
    let mut command = format!("lockproof check models/{lock}.lua --property {property}");
    for a in set {
        command += &format!(" --assume {}", a.name);
    }
    let seed = (lock.len() * property.len() + set.len() * 977) as u64;
    Cell {
        lock: lock.into(),
        property: property.into(),
        assumptions: set.to_vec(),
        sizes: sizes(if lock == "redlock" { 3 } else { 1 }),
        verdict,
        expected: Some(verdict),
        reason: None,
        on: Vec::new(),
        states: seed * 31 + 77,
        transitions: seed * 97,
        depth: 21,
        seconds: 0.25,
        replays: (verdict == Verdict::Violated).then_some(Replays {
            reproduced: 20,
            attempts: 20,
        }),
        walks: (verdict == Verdict::Holds).then_some(Walks {
            count: 40,
            steps: 4_000,
            diverged: 0,
        }),
        counterexample: None,
        command,
    }
}

const PROPERTIES: [(&str, &str); 4] = [
    (
        "mutual-exclusion-belief",
        "Never do two clients believe to hold the lock at the same time.",
    ),
    (
        "mutual-exclusion-validity",
        "Never do two clients hold it within the validity that they were told.",
    ),
    (
        "owner-only-release",
        "No release or renewal by a client ends, shortens or prolongs another client's hold.",
    ),
    (
        "no-orphan",
        "After a failed acquire or a release, plus one lease, no key of that client is left.",
    ),
];

const FAULTS: [(&str, &str); 5] = [
    ("overrun", "The holder's work outlasts its lease."),
    ("client-pause", "A client process stops and goes on later."),
    ("delay", "A message may stay in flight for some ticks."),
    ("loss", "A request or a reply is lost."),
    ("node-restart", "A server dies and starts again."),
];

fn glossary(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(a, b): &(&str, &str)| (a.to_string(), b.to_string());
    entries.iter().map(owned).collect()
}

fn counterexample(id: &str, trace: &str, replay: Replay) -> Counterexample {
    Counterexample {
        id: id.into(),
        trace: fixture(trace),
        replay: Some(replay),
        replay_command: Some(format!("lockproof replay reports/traces/{id}.json")),
    }
}

/// Verdicts of each lock: a line a property, in it H, V or ? for each of the
/// assumption sets.
const VERDICTS: [(&str, [&str; 4]); 3] = [
    ("setnx-expire", ["HVVHV", "HVVHV", "HVVVV", "HHHVV"]),
    ("token", ["HVVHV", "HHHHV", "HHHHH", "HHHV?"]),
    ("redlock", ["HVVHV", "HHHHV", "HHHHH", "HHHV?"]),
];

fn cells() -> Vec<Cell> {
    let sets = [
        vec![],
        vec![fault("overrun", 0)],
        vec![fault("client-pause", 4)],
        vec![fault("delay", 2), fault("loss", 0)],
        vec![fault("loss", 0), fault("node-restart", 0)],
    ];
    let mut cells = Vec::new();
    for (lock, rows) in &VERDICTS {
        for (row, (property, _)) in rows.iter().zip(PROPERTIES) {
            for (set, letter) in sets.iter().zip(row.chars()) {
                let verdict = match letter {
                    'H' => Verdict::Holds,
                    'V' => Verdict::Violated,
                    _ => Verdict::Unknown,
                };
                cells.push(cell(lock, property, set, verdict));
            }
        }
    }
    cells
}

fn environment() -> Environment {
    let server = |name: &str, version: &str| Server {
        name: name.into(),
        version: version.into(),
    };
    Environment {
        servers: vec![
            server("redis-server", "7.0.15"),
            server("valkey-server", "9.1.2"),
        ],
        proxy: Some("embedded".into()),
    }
}

/// Three locks, four properties, five assumption sets; four counterexamples, one
/// of which diverged. The figures are made up, and the version says so.
pub fn report() -> Report {
    let mut report = Report {
        partition: None,
        schema: SCHEMA.into(),
        tool_version: "0.1.0 (example data, not a run)".into(),
        environment: environment(),
        seed: 42,
        command: "lockproof report --config reports/matrix.toml".into(),
        config: "seed = 42\nlocks = [\"setnx-expire\", \"token\", \"redlock\"]\n".into(),
        properties: glossary(&PROPERTIES),
        assumptions: glossary(&FAULTS),
        locks: vec![
            lock("setnx-expire", SETNX_EXPIRE, None),
            lock("token", TOKEN, Some(RELEASE)),
            lock("redlock", REDLOCK, None),
        ],
        cells: cells(),
        counterexamples: vec![
            counterexample(
                "setnx-expire-01",
                "setnx-expire-late-del",
                Replay::Reproduced,
            ),
            counterexample("redlock-01", "redlock-amnesia", Replay::Reproduced),
            counterexample("token-01", "token-lost-replies", Replay::Reproduced),
            counterexample(
                "token-02",
                "every-fault",
                Replay::Diverged {
                    step: 30,
                    model: "OK".into(),
                    real: "nil".into(),
                },
            ),
        ],
        scenarios: Vec::new(),
    };
    report.locks[0].description = "SETNX, then EXPIRE in a second command; plain DEL".into();
    report.locks[0].about = About {
        works: Some("SETNX writes the key. EXPIRE gives it a lease.".into()),
        claims: Some("A dead holder blocks nobody.".into()),
        repair: Some("Write both with one SET, and a token.".into()),
    };
    fill_in(&mut report);
    report
}

/// The cells that differ from the plain table.
fn fill_in(report: &mut Report) {
    let at = |report: &Report, lock: &str, property: &str, set: usize| {
        let nth = report
            .cells
            .iter()
            .enumerate()
            .filter(|(_, c)| c.lock == lock && c.property == property)
            .nth(set);
        nth.expect("the table has it").0
    };
    for (lock, property, set, id) in [
        ("setnx-expire", "owner-only-release", 1, "setnx-expire-01"),
        ("redlock", "mutual-exclusion-validity", 4, "redlock-01"),
        ("token", "no-orphan", 3, "token-01"),
        ("token", "mutual-exclusion-belief", 4, "token-02"),
    ] {
        let i = at(report, lock, property, set);
        report.cells[i].counterexample = Some(id.into());
    }
    let diverged = at(report, "token", "mutual-exclusion-belief", 4);
    report.cells[diverged].replays = Some(Replays {
        reproduced: 0,
        attempts: 20,
    });
    let surprise = at(report, "redlock", "mutual-exclusion-belief", 4);
    report.cells[surprise].expected = Some(Verdict::Holds);
    for lock in ["token", "redlock"] {
        let unknown = at(report, lock, "no-orphan", 4);
        report.cells[unknown].reason = Some("the bound of 10 000 000 states was reached".into());
    }
}
