//! Mistakes in lock files and arguments: each is named, with its place and what
//! to do about it, and exits as a usage error.

use crate::cli_support::*;

use lockproof_model::lock::SETUPS;

/// Checks a planted lock file; its message must name the file, or one of its lines.
#[track_caller]
fn refused(name: &str, line: Option<u32>, texts: &[&str]) {
    let path = planted(name);
    let said = lockproof(&format!("check {path} --assume none"));
    said.failed(USAGE, texts);
    let at = line.map_or(format!("{path}: "), |line| format!("{path}:{line}: "));
    assert!(said.err.contains(&at), "no `{at}` in {said:#?}");
    assert_eq!(said.out, "", "a verdict on a file that is no lock");
}

#[test]
fn a_syntax_error_is_named_with_file_and_line() {
    refused("syntax-error", Some(6), &["unexpected symbol near 'then'"]);
}

#[test]
fn a_word_that_does_not_exist_is_named() {
    refused("unknown-word", Some(6), &["`redi` is not defined"]);
}

#[test]
fn a_loop_without_end_is_stopped() {
    refused("endless-loop", Some(8), &["loop without end"]);
}

#[test]
fn a_loop_that_only_time_ends_is_stopped() {
    refused("busy-wait", Some(7), &["loop without end"]);
}

#[test]
fn a_counter_that_grows_for_ever_is_named() {
    refused(
        "growing-counter",
        None,
        &["takes too many forms", "attempts (line "],
    );
}

/// What is too much without faults is so under all of them: it is not closed once for each.
#[test]
fn a_lock_that_grows_without_bound_is_refused_once_for_all_sets() {
    let said = lockproof(&format!("check {}", planted("growing-counter")));
    said.failed(USAGE, &["takes too many forms"]);
    assert_eq!(said.out, "", "no set is answered");
    assert!(
        !said.err.contains("client-crash"),
        "no other set is explored: {said:#?}"
    );
}

#[test]
fn what_lasts_for_thousands_of_ticks_is_named() {
    refused(
        "sleeps-for-years",
        None,
        &["the 900000000000 ms of line 3 are"],
    );
    refused("valid-for-years", None, &["ms of a stated validity are"]);
}

#[test]
fn a_validity_that_is_no_number_of_ms_is_refused() {
    refused(
        "validity-of-nothing",
        Some(5),
        &["takes a number up to 1e12, not NaN"],
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_file() {
    let said = lockproof(&format!(
        "check {} --assume none",
        planted("byte-order-mark")
    ));
    assert_eq!(said.code, Some(0), "{said:#?}");
}

#[test]
fn a_table_may_contain_itself_and_an_iterator_may_wait() {
    for name in ["table-cycle", "yielding-iterator"] {
        let said = lockproof(&format!("check {} --assume none", planted(name)));
        assert_eq!(said.code, Some(0), "{said:#?}");
    }
}

#[test]
fn a_write_to_a_global_is_refused() {
    refused(
        "global-write",
        Some(6),
        &["`started` can not be assigned", "write `local started`"],
    );
}

#[test]
fn a_lock_without_release_is_refused() {
    refused("no-release", None, &["the lock has no `release`"]);
}

#[test]
fn a_script_that_is_not_there_is_named() {
    refused(
        "missing-script",
        Some(4),
        &["there is no script `release_if_ower`"],
    );
}

#[test]
fn a_command_that_the_model_lacks_is_refused_and_not_judged_by_its_error() {
    for (name, line) in [("unknown-command", 6), ("unknown-command-in-script", 9)] {
        refused(name, Some(line), &["command", "not in the model"]);
    }
}

#[test]
fn each_cause_is_told_once() {
    let said = lockproof("check nowhere.lua");
    said.failed(USAGE, &["failed to read the lock file nowhere.lua"]);
    assert_eq!(said.err.matches("No such file").count(), 1, "{said:#?}");
}

#[test]
fn misspelt_names_are_told_their_nearest() {
    for (arguments, nearest) in [
        ("check tokn", "did you mean `token`?"),
        (
            "check token --assume client-paus",
            "did you mean `client-pause`?",
        ),
        ("check token --budget los=1", "did you mean `loss`?"),
        (
            "check token --property no-orphans",
            "did you mean `no-orphan`?",
        ),
        (
            "check redlock --param drift_facto=1",
            "did you mean `drift_factor`?",
        ),
        ("chek token", "'check'"),
        ("list lokcs", "'locks'"),
    ] {
        lockproof(arguments).failed(USAGE, &[nearest]);
    }
}

#[test]
fn sizes_out_of_range_are_told_their_range() {
    for (arguments, range) in [
        ("--budget loss=0", "from 1 to 7"),
        ("--budget loss=8", "from 1 to 7"),
        ("--budget loss", "write it as NAME=NUMBER"),
        ("--size client-pause=61", "from 1 to 60"),
        ("--size loss=2", "loss has no size"),
        ("--clients 0", "from 1 to 4"),
        ("--clients 5", "from 1 to 4"),
        ("--nodes 2", "from 1 to 1"),
        ("--ttl-ticks 0", "from 1 to 60"),
        ("--ttl-ticks 61", "from 1 to 60"),
        ("--timeout-ticks 0", "from 1 to 120"),
        ("--tick-ms 9", "from 10 to 3600000"),
        ("--param a=1", "declares no parameter `a`"),
        ("--timeout -1", "0 or more"),
        ("--workers 65", "from 0 to 64"),
        ("--all --assume loss", "cannot be used with"),
    ] {
        let said = lockproof(&format!("check token {arguments}"));
        said.failed(USAGE, &[range]);
    }
}

#[test]
fn a_parameter_is_a_number() {
    let said = lockproof("check redlock --param drift_factor=much");
    said.failed(USAGE, &["`much` is not a number"]);
}

#[test]
fn run_files_and_reports_that_make_no_sense_are_refused() {
    let place = Place::new();
    let not_toml = place.write("not.toml", "{}");
    let other = place.write("other.toml", "schema = \"lockproof.run/9\"\n");
    let cut = place.write("cut.json", "{\"schema\": ");
    for (arguments, text) in [
        ("run nowhere.toml".to_owned(), "failed to read nowhere.toml"),
        (format!("run {not_toml}"), "line 1"),
        (format!("run {other}"), "failed to read the run file"),
        ("run --baseline nowhere.toml".into(), "nowhere.toml"),
        ("report nowhere.json".into(), "failed to read nowhere.json"),
        (format!("report {cut}"), "line 1"),
    ] {
        place.run(&arguments).failed(USAGE, &[text]);
    }
}

#[test]
fn the_explorer_page_is_served_on_loopback_only() {
    let said = lockproof("explore token --address 192.0.2.1:3000");
    said.failed(USAGE, &["not a loopback address"]);
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let place = Place::new();
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, place.path("a.lua"), kind, 0o600.into(), 0).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, place.path("a.toml"), kind, 0o600.into(), 0).unwrap();
    let texts = ["and no file"];
    for arguments in [
        "check a.lua",
        "check /dev/zero",
        "walk ./a.lua",
        "check /tmp",
    ] {
        place.run(arguments).failed(USAGE, &texts);
    }
    for arguments in [
        "scenario check a.toml",
        "run a.toml",
        "run --baseline a.toml",
    ] {
        place.run(arguments).failed(USAGE, &texts);
    }
}

#[test]
fn a_name_that_could_leave_its_folder_is_refused() {
    let place = Place::new();
    let rest = "acquire = function() return busy() end, release = function() end }";
    let long = "a".repeat(101);
    for name in [
        "../..", "/x", "a/b", "a\\nb", "a\\0b", "\\27[2J", "", ".a", "-a", "a b", &long,
    ] {
        let text = format!("return {{ name = \"{name}\", {rest}");
        place.write("mine.lua", &text);
        let said = place.run("check mine.lua --assume none --traces out");
        said.failed(USAGE, &["mine.lua:1: ", "can not be a lock's name"]);
    }
    place.write("it is mine!.lua", &format!("return {{ {rest}"));
    let said = place
        .command("check")
        .arg("it is mine!.lua")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("it-is-mine-"), "{said}");
}

#[test]
fn a_lock_that_is_a_set_up_of_servers_leads_to_the_lock_and_the_assumption() {
    for setup in SETUPS {
        let said = lockproof(&format!("check {} --assume none", setup.name));
        let asked = format!("ask for {} --assume {}", setup.lock, setup.assumptions);
        said.failed(USAGE, &[&asked]);
        let checked = lockproof(&format!(
            "check {} --assume {}",
            setup.lock, setup.assumptions
        ));
        let set = setup.assumptions.replace(',', " + ");
        let sentence = format!("{} breaks under {set}: ", setup.lock);
        assert!(checked.out.contains(&sentence), "{checked:#?}");
    }
}
