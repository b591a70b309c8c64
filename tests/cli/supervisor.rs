//! Whatever a lock file does, a check ends in time, within its memory, and with an exit
//! code: by the bounds inside, and behind them by the process that watches.

use crate::cli_support::*;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A check that takes minutes.
const LONG: &str = "check redlock --nodes 3 --all --timeout 600";

/// What the program says when it ends, which must be soon.
#[track_caller]
fn end_of(mut child: Child) -> Said {
    let end = Instant::now() + Duration::from_secs(100);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!(
                "it did not end: {:#?}",
                Said::from(child.wait_with_output().unwrap())
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap().into()
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id as i32).unwrap()
}

/// The process that works, once it does: it has threads then.
fn working(child: &Child) -> Pid {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(&id) = descendants(child.id()).first() {
            let threads = std::fs::read_dir(format!("/proc/{id}/task"));
            if threads.is_ok_and(|threads| threads.count() > 1) {
                return pid(id);
            }
        }
        assert!(Instant::now() < end, "no process works");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_hostile_lock_file_has_its_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    assert_eq!(files.len(), FILES);
    let place = Place::new();
    for file in files {
        let shown = file.display();
        let said = end_of(place.start(&format!(
            "check {shown} --assume none --timeout 2 --max-memory 1500"
        )));
        let code = said.code.unwrap();
        assert!(
            [FINE, VIOLATION, UNKNOWN, USAGE].contains(&code),
            "{shown}: {said:#?}"
        );
        assert!(!said.err.contains("panicked"), "{shown}: {said:#?}");
    }
}

/// Files in `tests/hostile`.
const FILES: usize = 84;

#[test]
fn a_check_that_does_not_end_in_time_is_ended() {
    let place = Place::new();
    let child = place.start("check redlock --nodes 3 --all --timeout 20");
    // It reacts to nothing any more, whatever the reason.
    kill_process(working(&child), Signal::STOP).unwrap();
    let said = end_of(child);
    said.failed(
        UNKNOWN,
        &["the check of redlock did not end within 20 s and was ended"],
    );
}

#[test]
fn a_check_that_takes_too_much_memory_is_told_to_stop() {
    let said = lockproof("check redlock --nodes 3 --all --timeout 300 --max-memory 250");
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    assert!(said.out.contains("stopped before"), "{said:#?}");
}

#[test]
fn a_check_that_goes_on_taking_memory_is_ended() {
    // It has taken more before it can hear that it is to stop.
    let said = lockproof(&format!("{LONG} --max-memory 1"));
    said.failed(UNKNOWN, &["took more than 1 MB of memory and was ended"]);
}

#[test]
fn a_crash_is_an_error_message() {
    let place = Place::new();
    for (signal, name) in [
        (Signal::SEGV, "SIGSEGV"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::KILL, "SIGKILL"),
    ] {
        let child = place.start(LONG);
        let works = working(&child);
        // The first SIGSEGV is taken for an overflow of the stack, and looked into.
        for _ in 0..2 {
            let _ = kill_process(works, signal);
            std::thread::sleep(Duration::from_millis(300));
        }
        end_of(child).failed(
            INTERNAL,
            &[name, "during the check of redlock", "please report"],
        );
    }
}

#[test]
fn who_works_does_not_outlive_who_watches() {
    let place = Place::new();
    let mut child = place.start(LONG);
    let works = working(&child);
    child.kill().unwrap();
    child.wait().unwrap();
    let path = format!("/proc/{}/stat", works.as_raw_nonzero());
    let is_gone = || match std::fs::read_to_string(&path) {
        // Nobody may have waited for it yet.
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    let end = Instant::now() + Duration::from_secs(30);
    while !is_gone() {
        assert!(Instant::now() < end, "it still works");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_traces_folder_deep_below_none_can_be_written() {
    let place = Place::new();
    let said = place.run("check token --assume client-pause --traces deep/er/traces");
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(!place.files("deep/er/traces").is_empty());
}

/// However early: between the fork and the first look there is a moment in which the
/// signal ends the process that works.
#[test]
fn a_check_that_is_ended_as_it_begins_says_so_with_its_exit_code() {
    let place = Place::new();
    for (delay_us, signal) in (0..60).zip([Signal::TERM, Signal::INT, Signal::HUP].iter().cycle()) {
        let child = place.start(LONG);
        std::thread::sleep(Duration::from_micros(delay_us * 100));
        kill_process(pid(child.id()), *signal).unwrap();
        let status = std::os::unix::process::ExitStatusExt::signal;
        let mut child = child;
        let ended = child.wait().unwrap();
        let code = ended.code().or(status(&ended).map(|by| 128 + by));
        let said = Said::from(child.wait_with_output().unwrap());
        assert_eq!(code, Some(128 + signal.as_raw()), "{delay_us}: {said:#?}");
        assert!(!said.err.contains("please report"), "{delay_us}: {said:#?}");
    }
}

/// Ctrl-Z, lunch, `fg`.
#[test]
fn the_time_for_which_a_check_is_stopped_does_not_count() {
    let place = Place::new();
    let child =
        place.start("check redlock --nodes 3 --assume client-crash,client-pause,loss --timeout 6");
    working(&child);
    let watching = pid(child.id());
    kill_process(watching, Signal::TSTP).unwrap();
    let stopped = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.contains(") T ")
    };
    let works = descendants(child.id())[0];
    let end = Instant::now() + Duration::from_secs(20);
    while !(stopped(child.id()) && stopped(works)) {
        assert!(Instant::now() < end, "they do not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(9000));
    kill_process(watching, Signal::CONT).unwrap();
    let said = end_of(child);
    assert!(!said.err.contains("was ended"), "{said:#?}");
    assert!(said.out.contains("unknown"), "{said:#?}");
}
