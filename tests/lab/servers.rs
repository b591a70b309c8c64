//! Claims about the servers that lockproof starts, on every server program that
//! this machine has.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use lockproof_lab::binaries::{self, Binary, Version};
use lockproof_lab::clock::Library;
use lockproof_lab::server::{Fleet, OwnClock, Persistence, Server, ServerOptions};
use lockproof_redis::Reply;

const EPOCH_MS: i64 = 1_700_000_000_000;

fn servers() -> Vec<Binary> {
    let found = binaries::find(&binaries::server_directories());
    assert!(!found.is_empty(), "no server program: run scripts/setup.sh");
    found
}

fn first() -> ServerOptions {
    ServerOptions::new(servers().remove(0))
}

fn frozen(binary: Binary) -> ServerOptions {
    with_library(binary, Library::built_in().unwrap())
}

fn with_library(binary: Binary, library: Library) -> ServerOptions {
    ServerOptions {
        clock: Some(OwnClock {
            library,
            freeze_at_ms: Some(EPOCH_MS),
        }),
        ..ServerOptions::new(binary)
    }
}

async fn ask(server: &Server, command: &str) -> Reply {
    let argv: Vec<&str> = command.split_whitespace().collect();
    server.command(&argv).await.unwrap()
}

fn ok() -> Reply {
    Reply::Status("OK".into())
}

fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.into())
}

fn is_there(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_frozen_clock_makes_expiry_exact_to_the_millisecond() {
    for binary in servers() {
        let server = Server::start(&frozen(binary)).await.unwrap();
        let clock = server.clock().unwrap();
        assert_eq!(ask(&server, "SET k v PX 1000").await, ok());
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(1000), "{server}");
        // Real time passes and the server does not see it.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(1000), "{server}");
        clock.advance(999);
        server.sync_clock().await.unwrap();
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(1), "{server}");
        assert_eq!(ask(&server, "GET k").await, bulk("v"), "{server}");
        // Redis counts a key as expired only after its time: not at it.
        clock.advance(1);
        server.sync_clock().await.unwrap();
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(0), "{server}");
        assert_eq!(ask(&server, "GET k").await, bulk("v"), "{server}");
        clock.advance(1);
        server.sync_clock().await.unwrap();
        assert_eq!(ask(&server, "EXISTS k").await, Reply::Int(0), "{server}");
        assert_eq!(ask(&server, "GET k").await, Reply::Nil, "{server}");
    }
}

#[tokio::test]
async fn time_says_what_the_clock_was_set_to() {
    for binary in servers() {
        let server = Server::start(&frozen(binary)).await.unwrap();
        let clock = server.clock().unwrap();
        clock.freeze_at(EPOCH_MS + 1_234);
        server.sync_clock().await.unwrap();
        let script = ["EVAL", "return redis.call('TIME')", "0"];
        for argv in [&["TIME"], &script[..]] {
            let Reply::Array(shown) = server.command(argv).await.unwrap() else {
                panic!("{server}: TIME gave no array");
            };
            assert_eq!(shown[0], bulk("1700000001"), "{server}");
            let Reply::Bulk(us) = &shown[1] else {
                panic!("{server}: TIME gave {shown:?}");
            };
            // Valkey adds less than one ms of monotonic time.
            assert_eq!(us.len(), 6, "{server}");
            assert_eq!(us[..3], *b"234", "{server}");
        }
        assert_eq!(
            ask(&server, "SET k v PXAT 1700000001235").await,
            ok(),
            "{server}"
        );
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(1), "{server}");
    }
}

#[tokio::test]
async fn a_clock_may_jump_back_and_run_on_at_its_own_rate() {
    for binary in servers() {
        let server = Server::start(&frozen(binary)).await.unwrap();
        let clock = server.clock().unwrap();
        assert_eq!(ask(&server, "SET k v PX 1000").await, ok());
        clock.jump(-5_000);
        server.sync_clock().await.unwrap();
        assert_eq!(ask(&server, "PTTL k").await, Reply::Int(6000), "{server}");
        clock.rate(1_000.0);
        // 6 s of the server's time: it must pass, however slow this machine is.
        while ask(&server, "EXISTS k").await != Reply::Int(0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(clock.now_ms() >= EPOCH_MS + 1_000);
        clock.run();
        clock.jump(20_000);
        server.sync_clock().await.unwrap();
    }
}

#[tokio::test]
async fn two_servers_have_two_clocks() {
    let fleet = Fleet::start(2, &frozen(servers().remove(0))).await.unwrap();
    for server in &fleet.servers {
        assert_eq!(ask(server, "SET k v PX 100").await, ok());
    }
    fleet.servers[0].clock().unwrap().advance(101);
    fleet.servers[0].sync_clock().await.unwrap();
    assert_eq!(ask(&fleet.servers[0], "GET k").await, Reply::Nil);
    assert_eq!(ask(&fleet.servers[1], "PTTL k").await, Reply::Int(100));
}

/// Where a file for this kind of processor says that it is for another: e_machine of
/// the ELF header.
const MACHINE: usize = 18;

#[tokio::test]
async fn a_clock_library_that_a_server_cannot_load_is_reported_and_not_done_without() {
    let whole = Library::bytes();
    let mut foreign = whole.to_vec();
    foreign[MACHINE] ^= 0xff;
    let half = &whole[..whole.len() / 2];
    for binary in servers() {
        for bytes in [b"no library", &foreign[..], half, b""] {
            let mut options = with_library(binary.clone(), Library::of(bytes).unwrap());
            // A clock that runs from true time is no different from the machine's.
            options.clock.as_mut().unwrap().freeze_at_ms = None;
            let error = Server::start(&options).await.unwrap_err().to_string();
            // Either the loader goes on without it, or the process dies of it.
            let reported = error.contains("did not load the clock library")
                || error.contains("ended by itself");
            assert!(reported, "{error}");
            assert!(
                error.contains("LD_PRELOAD") || !error.contains("did not load"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_behind_a_script_that_clears_the_environment_is_not_believed() {
    let mut binary = servers().remove(0);
    let dir = tempfile::tempdir().unwrap();
    let wrapper = dir.path().join("wrapper");
    let program = binary.path.display().to_string();
    let text = format!("#!/bin/sh\nexec env -i PATH=\"$PATH\" \"{program}\" \"$@\"\n");
    script(&wrapper, &text);
    binary.path = wrapper.clone();
    let error = Server::start(&frozen(binary.clone())).await.unwrap_err();
    assert!(error.to_string().contains("clock"), "{error}");
    // One that only passes on is as good as the server itself.
    script(&wrapper, &format!("#!/bin/sh\nexec \"{program}\" \"$@\"\n"));
    let server = Server::start(&frozen(binary)).await.unwrap();
    assert!(server.clock().unwrap().is_read());
}

/// Written by a child: were it open for writing here, a process that another test
/// forks at that moment would make it "text file busy".
fn script(path: &std::path::Path, text: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"printf %s "$1" >"$0"; chmod +x "$0""#]);
    assert!(shell.arg(path).arg(text).status().unwrap().success());
}

#[tokio::test]
async fn what_a_paused_server_was_sent_is_applied_when_it_goes_on() {
    let mut options = first();
    options.command_patience = Duration::from_secs(1);
    let server = Server::start(&options).await.unwrap();
    server.pause().unwrap();
    let error = server.command(&["SET", "k", "v"]).await.unwrap_err();
    assert!(error.to_string().contains("paused"), "{error}");
    server.resume().unwrap();
    loop {
        match server.command(&["GET", "k"]).await {
            Ok(Reply::Nil) | Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(value) => break assert_eq!(value, bulk("v")),
        }
    }
}

#[tokio::test]
async fn a_restart_keeps_what_its_persistence_keeps() {
    for binary in servers() {
        for (persistence, kept) in [
            (Persistence::None, Reply::Nil),
            (Persistence::Everysec, bulk("v")),
            (Persistence::Always, bulk("v")),
        ] {
            let options = ServerOptions {
                persistence,
                ..frozen(binary.clone())
            };
            let mut server = Server::start(&options).await.unwrap();
            let (address, pid) = (server.address(), server.pid());
            assert_eq!(ask(&server, "SET k v PX 1000").await, ok());
            server.kill().unwrap();
            assert_eq!(server.pid(), None);
            server.clock().unwrap().advance(400);
            server.restart().await.unwrap();
            assert_eq!(server.address(), address);
            assert_ne!(server.pid(), pid);
            assert_eq!(
                ask(&server, "GET k").await,
                kept,
                "{server} {persistence:?}"
            );
            if kept != Reply::Nil {
                assert_eq!(ask(&server, "PTTL k").await, Reply::Int(600), "{server}");
            }
        }
    }
}

/// A command meets a key through the millisecond in which its time ends. A server's own
/// search for such keys may take it away before, and does from Redis 8.0 on.
#[tokio::test]
async fn a_server_that_does_not_expire_by_itself_keeps_a_key_through_its_last_millisecond() {
    const CYCLES: Duration = Duration::from_millis(400);
    for binary in servers() {
        let takes_early = binary.name == "redis" && binary.version >= Version(8, 0, 0);
        for (expires_by_itself, stays) in [(false, true), (true, !takes_early)] {
            let options = ServerOptions {
                expires_by_itself,
                ..frozen(binary.clone())
            };
            let mut server = Server::start(&options).await.unwrap();
            for start in ["first", "second"] {
                assert_eq!(ask(&server, "SET k v PX 100").await, ok());
                server.clock().unwrap().advance(100);
                server.sync_clock().await.unwrap();
                tokio::time::sleep(CYCLES).await;
                let there = Reply::Int(i64::from(stays));
                let asked = format!("{server}, by itself: {expires_by_itself}, {start} start");
                assert_eq!(ask(&server, "EXISTS k").await, there, "{asked}");
                server.clock().unwrap().advance(1);
                server.sync_clock().await.unwrap();
                assert_eq!(ask(&server, "EXISTS k").await, Reply::Int(0), "{asked}");
                server.restart().await.unwrap();
            }
        }
    }
}

/// A question is asked on a connection that is kept: it must not answer for another process, nor
/// with what was asked before.
#[tokio::test]
async fn a_question_reaches_the_process_that_runs_now_and_gets_its_own_answer() {
    let options = ServerOptions {
        command_patience: Duration::from_millis(300),
        ..first()
    };
    let mut server = Server::start(&options).await.unwrap();
    let ping = async |server: &Server, word: &str| server.question(&["PING", word]).await;
    assert_eq!(ping(&server, "one").await.unwrap(), bulk("one"));
    // The server ends the connection.
    assert_eq!(
        ask(&server, "CLIENT KILL TYPE normal SKIPME yes").await,
        Reply::Int(1)
    );
    assert_eq!(ping(&server, "two").await.unwrap(), bulk("two"));
    // It stands still, and the question is given up: its answer comes later, and nobody's.
    server.pause().unwrap();
    assert!(ping(&server, "three").await.is_err());
    server.resume().unwrap();
    assert_eq!(ping(&server, "four").await.unwrap(), bulk("four"));
    server.kill().unwrap();
    assert!(ping(&server, "five").await.is_err(), "nobody answers");
    server.restart().await.unwrap();
    assert_eq!(ping(&server, "six").await.unwrap(), bulk("six"));
}

#[tokio::test]
async fn power_loss_loses_exactly_what_was_written_after_the_mark() {
    for binary in servers() {
        let options = ServerOptions {
            persistence: Persistence::Everysec,
            ..frozen(binary)
        };
        let mut server = Server::start(&options).await.unwrap();
        assert_eq!(ask(&server, "SET before 1").await, ok());
        let mark = server.aof_len().unwrap();
        assert_eq!(ask(&server, "SET after 1").await, ok());
        assert!(server.aof_len().unwrap() > mark, "{server}");
        let refused = server.truncate_aof_to(mark).unwrap_err().to_string();
        assert!(refused.contains("kill it before"), "{refused}");
        server.kill().unwrap();
        server.truncate_aof_to(mark).unwrap();
        server.restart().await.unwrap();
        assert_eq!(ask(&server, "GET before").await, bulk("1"), "{server}");
        assert_eq!(ask(&server, "GET after").await, Reply::Nil, "{server}");
    }
}

#[tokio::test]
async fn a_torn_tail_still_loads() {
    let options = ServerOptions {
        persistence: Persistence::Everysec,
        ..first()
    };
    let mut server = Server::start(&options).await.unwrap();
    assert_eq!(ask(&server, "SET before 1").await, ok());
    let mark = server.aof_len().unwrap();
    assert_eq!(ask(&server, "SET after 1").await, ok());
    server.kill().unwrap();
    server.truncate_aof_to(mark + 3).unwrap();
    server.restart().await.unwrap();
    assert_eq!(ask(&server, "GET before").await, bulk("1"));
    assert_eq!(ask(&server, "GET after").await, Reply::Nil);
}

#[tokio::test]
async fn two_fleets_at_once_do_not_meet() {
    let options = first();
    let (one, two) = tokio::join!(Fleet::start(4, &options), Fleet::start(4, &options));
    let (one, two) = (one.unwrap(), two.unwrap());
    for (fleet, name) in [(&one, "one"), (&two, "two")] {
        for (i, server) in fleet.servers.iter().enumerate() {
            assert_eq!(ask(server, &format!("SET who {name}-{i}")).await, ok());
        }
    }
    for (fleet, name) in [(&one, "one"), (&two, "two")] {
        for (i, server) in fleet.servers.iter().enumerate() {
            assert_eq!(ask(server, "GET who").await, bulk(&format!("{name}-{i}")));
        }
    }
}

#[tokio::test]
async fn a_dropped_server_leaves_no_process_and_no_directory() {
    let server = Server::start(&first()).await.unwrap();
    let (pid, directory) = (server.pid().unwrap(), server.directory().to_owned());
    server.pause().unwrap();
    assert!(is_there(pid) && directory.exists());
    drop(server);
    assert!(!is_there(pid), "a stopped process or a zombie is left");
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_program_that_is_not_there_says_so() {
    let options = ServerOptions::new(Binary {
        name: "redis".into(),
        version: Version(0, 0, 0),
        path: "/nowhere/redis-server".into(),
    });
    let error = Server::start(&options).await.unwrap_err().to_string();
    assert!(error.contains("failed to start the process"), "{error}");
}

#[tokio::test]
async fn a_server_that_refuses_its_arguments_shows_its_own_words() {
    let mut options = first();
    options.args = vec!["--no-such-directive".into(), "1".into()];
    let error = Server::start(&options).await.unwrap_err().to_string();
    assert!(error.contains("ended by itself"), "{error}");
    assert!(error.contains("no-such-directive"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_runs_into_the_time_out() {
    let mut options = first();
    options.start_patience = Duration::from_millis(100);
    // It listens where nobody looks for it.
    let socket = tempfile::tempdir().unwrap();
    let path = socket.path().join("socket").display().to_string();
    options.args = ["--port", "0", "--unixsocket", &path]
        .map(Into::into)
        .into();
    let error = Server::start(&options).await.unwrap_err().to_string();
    assert!(error.contains("did not answer PING"), "{error}");
}

#[tokio::test]
async fn a_death_that_nobody_ordered_is_detected() {
    let mut server = Server::start(&first()).await.unwrap();
    server.check_alive().unwrap();
    // Not through kill(): as if the system had run out of memory.
    let pid = server.pid().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args(["-9", &pid])
            .status()
            .unwrap()
            .success()
    );
    let error = loop {
        match server.check_alive() {
            Ok(()) => tokio::time::sleep(Duration::from_millis(1)).await,
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("SIGKILL"), "{error}");
    // An ordered one is none.
    server.kill().unwrap();
    server.check_alive().unwrap();
}

/// Set in the child process of the test below.
const CHILD: &str = "LOCKPROOF_TEST_CHILD";

#[tokio::test]
async fn a_killed_harness_leaves_no_server_behind() {
    if std::env::var_os(CHILD).is_some() {
        let fleet = Fleet::start(3, &first()).await.unwrap();
        for server in &fleet.servers {
            println!("pid {}", server.pid().unwrap());
        }
        println!("ready");
        return std::future::pending().await;
    }
    // It has no time to clear up its directories, so they go with this one.
    let directories = tempfile::tempdir().unwrap();
    let mut harness = Command::new(std::env::current_exe().unwrap())
        .env("TMPDIR", directories.path())
        .args([
            "--exact",
            "servers::a_killed_harness_leaves_no_server_behind",
        ])
        .arg("--nocapture")
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(harness.stdout.take().unwrap()).lines();
    let pids: Vec<u32> = lines
        .map(Result::unwrap)
        .take_while(|line| line != "ready")
        .filter_map(|line| line.split_once("pid ")?.1.parse().ok())
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| is_there(*pid)));
    harness.kill().unwrap();
    harness.wait().unwrap();
    // Whoever inherits the dead reaps them; a zombie is no running server.
    let running = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
    };
    for _ in 0..5_000 {
        if !pids.iter().any(running) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("servers of a killed harness still run: {pids:?}");
}
