//! What a pool of servers and clients keeps from replay to replay, and what it survives.

use std::path::PathBuf;

use crate::gate_support::{
    Script, assert_reproduced, happy_path, held, late_del, ok, options, reason,
};
use lockproof_lab::client::ClientCommand;
use lockproof_replay::{GatePool, ReplayVerdict, replay};
use lockproof_trace::Trace;

fn shell(script: &str) -> ClientCommand {
    ClientCommand {
        name: "adapter-x".to_string(),
        program: PathBuf::from("sh"),
        args: vec!["-c".into(), script.into()],
    }
}

#[tokio::test]
async fn an_adapter_without_virtual_time_cannot_be_gated() {
    let hello = r#"{"type":"hello","protocol":"lockproof.adapter/1","name":"x","version":"1"}"#;
    let mut options = options();
    options.client = shell(&format!("echo '{hello}'; exec sleep 60"));
    let report = replay(&happy_path(), "token", &options).await;
    assert!(reason(&report.verdict).contains("virtual-time"));
}

#[tokio::test]
async fn a_broken_adapter_fails_the_replay_and_is_named() {
    let mut options = options();
    options.client = shell("echo 'Segmentation fault' >&2; exit 139");
    let report = replay(&happy_path(), "token", &options).await;
    let ReplayVerdict::Failed { step: None, error } = &report.verdict else {
        panic!("{}", report.verdict);
    };
    assert!(
        error.contains("adapter-x") && error.contains("Segmentation fault"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_fails_the_replay_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killer.lua");
    let text = "return {\n  acquire = function(lock)\n    redis(\"SHUTDOWN\", \"NOSAVE\")\n    return held()\n  end,\n  release = function(lock) return true end,\n}\n";
    std::fs::write(&path, text).unwrap();
    let file = lockproof_model::lock::LockFile::load(&path).unwrap();
    let mut script = Script::new("token", 1, 1);
    script.trace.lock.sha256 = file.sha256;
    script.acquire(0, "t-1");
    let last = script.send(0, 0, &["SHUTDOWN", "NOSAVE"]);
    script.execute(last, ok());
    let report = replay(&script.trace, path.to_str().unwrap(), &options()).await;
    let ReplayVerdict::Failed { step, error } = &report.verdict else {
        panic!("{}", report.verdict);
    };
    assert_eq!(*step, Some(2));
    assert!(error.contains("ended by itself"), "{error}");
    assert_eq!(report.steps_done, 2);
    assert!(!report.history.is_empty(), "what happened is kept");
}

// Pools.

fn runs(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_pool_uses_its_processes_again_and_leaves_none_behind() {
    let mut pool = GatePool::new(options());
    assert_reproduced(&pool.replay(&late_del(), "setnx-expire").await);
    let processes = pool.processes();
    assert_eq!(processes.len(), 1 + 3, "one server and three clients");
    for _ in 0..3 {
        // Each leaves keys, held requests and abandoned connections behind.
        assert_reproduced(&pool.replay(&late_del(), "setnx-expire").await);
        assert_eq!(pool.processes(), processes);
    }
    drop(pool);
    assert!(!processes.iter().any(|pid| runs(*pid)));
}

/// A Redlock acquire of the same token every time; of three nodes, or cut off
/// when the first command has only been sent.
fn redlock(cut_off: bool) -> Trace {
    let mut script = Script::new("redlock", 1, 3);
    script.acquire(0, "t-1");
    for node in 0..3 {
        let set = script.send(0, node, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
        if cut_off {
            return script.trace;
        }
        script.execute(set, ok());
        if node == 2 {
            script.held(0, Some(3000));
        }
        script.deliver(set);
    }
    script.outcome(0, "acquire", held(Some(3000)));
    script.trace
}

#[tokio::test]
async fn a_trace_that_ends_in_mid_flight_leaves_nothing_to_the_next() {
    let mut pool = GatePool::new(options());
    for _ in 0..10 {
        assert_reproduced(&pool.replay(&redlock(true), "redlock").await);
        assert_reproduced(&pool.replay(&redlock(false), "redlock").await);
    }
}

#[tokio::test]
async fn a_pool_changes_its_shape_with_the_trace() {
    let mut pool = GatePool::new(options());
    assert_reproduced(&pool.replay(&late_del(), "setnx-expire").await);
    assert_reproduced(&pool.replay(&happy_path(), "token").await);
    assert_eq!(pool.processes().len(), 1 + 2);
}

#[tokio::test]
async fn after_a_divergence_the_pool_is_clean() {
    let mut wrong = late_del();
    wrong.steps.truncate(wrong.steps.len() / 2);
    wrong.steps.pop();
    let mut pool = GatePool::new(options());
    for _ in 0..2 {
        pool.replay(&wrong, "setnx-expire").await;
        assert_reproduced(&pool.replay(&late_del(), "setnx-expire").await);
    }
}

#[tokio::test]
async fn a_pool_whose_server_was_killed_from_outside_says_so_and_recovers() {
    let mut pool = GatePool::new(options());
    assert_reproduced(&pool.replay(&happy_path(), "token").await);
    let server = pool.processes()[0];
    let pid = rustix::process::Pid::from_raw(server as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let report = pool.replay(&happy_path(), "token").await;
    let ReplayVerdict::Failed { step: None, error } = &report.verdict else {
        panic!("{}", report.verdict);
    };
    assert!(error.contains("ended by itself"), "{error}");
    assert_reproduced(&pool.replay(&happy_path(), "token").await);
}
