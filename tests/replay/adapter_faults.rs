//! Whatever an adapter does wrong ends in an error that names it, and its
//! process is gone when the error is raised.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lockproof_lab::client::protocol::{FromClient, ToClient};
use lockproof_lab::client::{ClientCommand, ClientError, ClientFault, ClientLimits, ClientProcess};

const HELLO: &str =
    r#"{"type":"hello","protocol":"lockproof.adapter/1","name":"bad","version":"0"}"#;

fn shell(script: &str) -> ClientCommand {
    ClientCommand {
        name: "bad-adapter".to_string(),
        program: PathBuf::from("sh"),
        args: vec![OsString::from("-c"), OsString::from(script)],
    }
}

fn limits(answer_ms: u64) -> ClientLimits {
    ClientLimits {
        answer: Duration::from_millis(answer_ms),
        ..ClientLimits::default()
    }
}

/// Starts the script, sends one request, and gives the error that comes of it.
async fn fault_of(script: &str, limits: ClientLimits) -> ClientError {
    let mut client = match ClientProcess::spawn(&shell(script), limits).await {
        Ok(client) => client,
        Err(error) => return error,
    };
    let pid = client.pid();
    let error = client
        .request(&ToClient::Shutdown { id: 1 })
        .await
        .expect_err("the adapter misbehaves");
    assert!(!runs(pid), "the process is reaped before the error is seen");
    error
}

fn runs(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

/// Waits until a process that nobody here can reap has gone.
async fn goes_away(pid: u32) -> bool {
    for _ in 0..500 {
        // A zombie that init has not collected yet is dead enough.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let command = ClientCommand {
        name: "ghost".to_string(),
        program: PathBuf::from("no-such-program-here"),
        args: Vec::new(),
    };
    let error = ClientProcess::spawn(&command, limits(5000))
        .await
        .err()
        .unwrap();
    assert!(matches!(error.fault, ClientFault::Spawn { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("client `ghost` failed to start `no-such-program-here`")
    );
}

#[tokio::test]
async fn rubbish_is_reported_with_its_line_and_text_and_stderr() {
    let script = format!("echo '{HELLO}'; echo 'oh dear' >&2; echo 'Traceback: boom'; sleep 60");
    let error = fault_of(&script, limits(5000)).await;
    let ClientFault::BadLine { line, text, .. } = &error.fault else {
        panic!("{error}");
    };
    assert_eq!((*line, text.as_str()), (2, "Traceback: boom"));
    assert!(error.to_string().contains("bad-adapter"), "{error}");
    assert!(error.stderr_tail.contains("oh dear"), "{error}");
}

#[tokio::test]
async fn rubbish_that_is_not_text_is_reported_too() {
    let script = format!("echo '{HELLO}'; printf '\\377\\376\\n'; sleep 60");
    let error = fault_of(&script, limits(5000)).await;
    assert!(
        matches!(error.fault, ClientFault::BadLine { line: 2, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn another_version_is_refused_by_name() {
    let script = r#"echo '{"type":"hello","protocol":"lockproof.adapter/9","new":1}'; sleep 60"#;
    let error = fault_of(script, limits(5000)).await;
    let ClientFault::WrongVersion { found, line: 1 } = &error.fault else {
        panic!("{error}");
    };
    assert_eq!(found, "lockproof.adapter/9");
}

#[tokio::test]
async fn a_first_line_that_is_no_hello_is_refused() {
    let error = fault_of(r#"echo '{"type":"ok","id":1}'; sleep 60"#, limits(5000)).await;
    assert!(
        matches!(error.fault, ClientFault::Unexpected { line: 1, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn an_endless_line_is_cut_off() {
    let script = format!("echo '{HELLO}'; exec tr '\\0' 'x' </dev/zero");
    let error = fault_of(&script, limits(20_000)).await;
    let ClientFault::Oversize { line: 2, text } = &error.fault else {
        panic!("{error}");
    };
    assert!(text.starts_with("xxxx") && text.len() < 300, "{text}");
}

#[tokio::test]
async fn a_flood_is_stopped_where_the_queue_is_full() {
    let script = format!("echo '{HELLO}'; exec yes '{{\"type\":\"log\",\"message\":\"x\"}}'");
    let error = fault_of(
        &script,
        ClientLimits {
            queued_max: 100,
            ..limits(20_000)
        },
    )
    .await;
    assert!(
        matches!(error.fault, ClientFault::Flood { queued: 100, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn silence_is_not_waited_for_for_ever() {
    let error = fault_of(&format!("echo '{HELLO}'; exec sleep 60"), limits(1000)).await;
    let ClientFault::NoAnswer {
        awaiting, lines: 1, ..
    } = &error.fault
    else {
        panic!("{error}");
    };
    assert_eq!(awaiting, "the answer to `shutdown` (id 1)");
}

#[tokio::test]
async fn no_hello_is_not_waited_for_for_ever() {
    let error = fault_of("exec sleep 60", limits(50)).await;
    assert!(
        matches!(error.fault, ClientFault::NoAnswer { lines: 0, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn an_early_exit_is_reported_with_its_status_and_stderr() {
    let script = format!("echo '{HELLO}'; read line; echo 'out of luck' >&2; exit 3");
    let error = fault_of(&script, limits(5000)).await;
    let ClientFault::Exited {
        status, lines: 1, ..
    } = &error.fault
    else {
        panic!("{error}");
    };
    assert_eq!(status.unwrap().code(), Some(3));
    assert!(error.stderr_tail.contains("out of luck"), "{error}");
}

#[tokio::test]
async fn an_adapter_that_never_reads_does_not_block_the_harness() {
    let script = format!("echo '{HELLO}'; exec sleep 60");
    let mut client = ClientProcess::spawn(&shell(&script), limits(5000))
        .await
        .unwrap();
    let call = ToClient::Call(lockproof_lab::client::protocol::Call {
        id: 1,
        op: "x".repeat(10_000),
        caller: 0,
        mode: Default::default(),
        token: None,
        wait_ms: None,
    });
    let error = (0..10_000).find_map(|_| client.send(&call).err()).unwrap();
    assert!(matches!(error.fault, ClientFault::Deaf { .. }), "{error}");
}

#[tokio::test]
async fn a_good_adapter_in_another_language_is_served() {
    let script = r#"
import json, sys
def say(m): print(json.dumps(m), flush=True)
say({"type": "hello", "protocol": "lockproof.adapter/1", "name": "py", "version": "1", "features": ["token"]})
for line in sys.stdin:
    m = json.loads(line)
    if m["type"] == "shutdown":
        say({"type": "log", "message": "bye"})
        say({"type": "ok", "id": m["id"]})
        break
"#;
    let command = ClientCommand {
        name: "py".to_string(),
        program: PathBuf::from("python3"),
        args: vec![OsString::from("-c"), OsString::from(script)],
    };
    let mut client = ClientProcess::spawn(&command, limits(20_000))
        .await
        .unwrap();
    assert_eq!(client.hello().name, "py");
    let answer = client.request(&ToClient::Shutdown { id: 9 }).await.unwrap();
    assert_eq!(answer, FromClient::Ok { id: 9 });
    let events = client.drain().unwrap();
    assert_eq!(
        events,
        [FromClient::Log {
            message: "bye".to_string()
        }]
    );
}

#[tokio::test]
async fn a_paused_client_is_silent_until_it_is_resumed() {
    let script =
        format!("echo '{HELLO}'; while read line; do echo '{{\"type\":\"ok\",\"id\":1}}'; done");
    let mut client = ClientProcess::spawn(&shell(&script), limits(5000))
        .await
        .unwrap();
    client.pause().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", client.pid())).unwrap();
    assert!(stat.contains(") T "), "stopped: {stat}");
    client.send(&ToClient::Shutdown { id: 1 }).unwrap();
    client.resume().unwrap();
    let answer = client.receive("the answer after the pause").await.unwrap();
    assert_eq!(answer, FromClient::Ok { id: 1 });
}

#[tokio::test]
async fn a_dropped_client_takes_its_children_with_it() {
    let script = r#"sleep 60 &
echo '{"type":"hello","protocol":"lockproof.adapter/1","name":"'$!'","version":"0"}'
wait"#;
    let client = ClientProcess::spawn(&shell(script), limits(5000))
        .await
        .unwrap();
    let (parent, child) = (client.pid(), client.hello().name.parse::<u32>().unwrap());
    assert!(runs(parent) && runs(child));
    drop(client);
    assert!(!runs(parent), "reaped in drop");
    assert!(goes_away(child).await, "the group is killed");
}
