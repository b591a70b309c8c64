//! Mistakes that people make in their first lock file: each message has the file's name once, the
//! line, what is wrong there, and what to write instead.

use crate::cli_support::*;

/// A lock file with this acquire, which begins on line 3; its release is all right.
fn acquiring(body: &str) -> String {
    format!(
        "return {{\n  acquire = function(lock)\n{body}\n  end,\n  release = function(lock) return true end,\n}}\n"
    )
}

#[track_caller]
fn told(text: &str, at: &str, says: &[&str]) {
    let place = Place::new();
    place.write("mine.lua", text);
    let said = place.run("check mine.lua --assume none");
    said.failed(USAGE, says);
    assert_eq!(said.err.matches("mine.lua").count(), 1, "{said:#?}");
    let begins = format!("error: mine.lua{at}: ");
    assert!(said.err.contains(&begins), "no `{begins}` in {said:#?}");
    assert_eq!(said.out, "");
}

#[test]
fn a_command_that_no_server_has_is_told_its_nearest_one() {
    for (sent, meant) in [
        ("\"SETXN\", lock.key, 1", "did you mean SETNX?"),
        ("\"gte\", lock.key", "did you mean GET?"),
        ("\"EXPRIE\", lock.key, 10", "did you mean EXPIRE?"),
        (
            "\"SETNX \" .. lock.key",
            "give each argument by itself: \"SETNX\"",
        ),
        ("\"frobnicate\"", "no command of Redis or Valkey"),
        // Redis has it, and so nothing else was meant.
        (
            "\"XADD\", lock.key, \"*\", \"a\", 1",
            "is not in the model yet",
        ),
    ] {
        let text = acquiring(&format!(
            "    local done = redis({sent})\n    if done then return held() end\n    return busy()"
        ));
        told(&text, ":3", &[meant]);
    }
    let script = "return { scripts = { r = [[\n return redis.call('GTE', KEYS[1])]] },\n\
                  acquire = function(lock)\n script(\"r\", {lock.key}) return busy() end,\n\
                  release = function(lock) end }";
    let says = ["script `r`, in its line 1, uses GTE", "did you mean GET?"];
    told(script, ":4", &says);
}

#[test]
fn what_belongs_to_scripts_is_told_apart_from_what_clients_say() {
    for (body, says) in [
        (
            "redis.call(\"SETNX\", lock.key, 1)",
            "redis.call and redis.pcall belong to the scripts",
        ),
        (
            "redis.pcall(\"SETNX\", lock.key, 1)",
            "write redis(\"SETNX\", lock.key, ..)",
        ),
        (
            "redis:setnx(lock.key, 1)",
            "write redis(\"SETNX\", lock.key, ..)",
        ),
        ("redis(\"SETNX\", KEYS[1], 1)", "a client has lock.key"),
        (
            "redis(\"SET\", lock.key, ARGV[1])",
            "script(name, {lock.key}, {lock.token})",
        ),
    ] {
        let line = 2 + body.lines().count();
        told(&acquiring(body), &format!(":{line}"), &[says]);
    }
}

#[test]
fn a_wrong_outcome_is_told_with_its_line_and_what_may_be_returned() {
    let sent = "    local set = redis(\"SETNX\", lock.key, \"1\")\n";
    for (rest, line, returned) in [
        (
            "    if set == 1 then return true end\n    return busy()",
            4,
            "acquire returned true; it may",
        ),
        (
            "    if not set then return busy() end\n    return set",
            5,
            "acquire returned 1; it may",
        ),
        (
            "    if not set then return busy() end\n    return held",
            5,
            "returned a function (call it, with parentheses: held()); it may",
        ),
        (
            "    if not set then return busy() end",
            5,
            "returned nothing (does every way through it return?); it may",
        ),
    ] {
        let text = acquiring(&format!("{sent}{rest}"));
        let may = "return held{...}, busy(), failed(reason) or lost()";
        told(&text, &format!(":{line}"), &[returned, may]);
    }
    let text = "return {\n acquire = function(lock) return held() end,\n\
                release = function(lock)\n return \"OK\"\n end }";
    let says = "release returned \"OK\"; it may return true (it took effect)";
    told(text, ":4", &[says]);
}

#[test]
fn what_other_languages_write_is_told_in_luas_words() {
    for (body, says) in [
        (
            "if 1 != 2 then return busy() end",
            "Lua writes ~= for \"not equal\"",
        ),
        (
            "if lock.ttl = 1 then return busy() end",
            "a comparison is ==",
        ),
    ] {
        told(&acquiring(body), ":3", &[says]);
    }
    let text = acquiring("return busy()").replace("  end,\n  release", "  end\n  release");
    told(&text, ":5", &["is a comma missing before it?"]);
    let text = acquiring("return redis(\"GET\", lock.key)");
    told(
        &text.replace("function(lock)\n", "function(self, lock)\n"),
        ":3",
        &["only argument"],
    );
}

#[test]
fn a_missing_reply_is_the_reason_only_where_a_nil_is_wrong() {
    let reason = "the command gives nil, err then";
    let text = acquiring("local n = redis(\"INCR\", lock.key)\nreturn n + 1 > 0 and held()");
    told(&text, ":4", &["nil", reason]);
    let place = Place::new();
    let text =
        acquiring("local n = redis(\"GET\", lock.key)\nif n then return busy() end\nreturn 7");
    place.write("mine.lua", &text);
    let said = place.run("check mine.lua --assume none");
    said.failed(USAGE, &["acquire returned 7"]);
    assert!(!said.err.contains(reason), "{said:#?}");
}

#[test]
fn misspelt_words_and_fields_are_told_the_nearest_ones() {
    told(&acquiring("return hold()"), ":3", &["did you mean `held`?"]);
    told(
        &acquiring("redis(\"GET\", lock.keys)"),
        ":3",
        &["did you mean `key`?"],
    );
    let known = "there are key, token, owner, ttl, nodes, params, mode";
    told(&acquiring("redis(\"GET\", lock.xyz)"), ":3", &[known]);
    told("return { aquire = 1 }", ":1", &["did you mean `acquire`?"]);
    told(
        "local lock = {}",
        "",
        &["the file returns nothing; it must end in `return {"],
    );
    told("function acquire() end", ":1", &["write `local acquire`"]);
}

/// `EX lock.ttl` is the commonest mistake with expiries.
#[test]
fn an_expiry_in_the_wrong_unit_is_told_with_its_line_as_soon_as_it_is_sent() {
    let place = Place::new();
    let lock = |option: &str| {
        format!(
            "return {{\n  acquire = function(lock)\n    if redis(\"SET\", lock.key, lock.token, \"NX\", \
             {option}) then return held() end\n    return busy()\n  end,\n  release = function(lock) \
             redis(\"DEL\", lock.key) end,\n}}\n"
        )
    };
    for (option, says) in [
        (
            "\"EX\", lock.ttl",
            "EX takes seconds, and 3000 is the lease in milliseconds",
        ),
        (
            "\"PX\", lock.ttl / 1000",
            "PX takes milliseconds, and 3 is the lease in seconds",
        ),
    ] {
        let file = place.write("unit.lua", &lock(option));
        let said = place.run(&format!("check {file} --assume none --property lease"));
        let warning = format!("unit.lua:3: {says}");
        assert!(said.err.contains(&warning), "at once: {said:#?}");
        assert!(said.out.contains(&warning), "and at the end: {said:#?}");
    }
    let file = place.write("right.lua", &lock("\"PX\", lock.ttl"));
    let said = place.run(&format!("check {file} --assume none --property lease"));
    assert!(
        !format!("{}{}", said.out, said.err).contains("takes"),
        "{said:#?}"
    );
}

#[test]
fn what_is_asked_of_no_such_lock_is_refused_and_not_left_empty() {
    for (command, says) in [
        (
            "check token --assume none --property reentrancy",
            "none of the properties that were named is asked of token",
        ),
        (
            "frontier token --assume loss --property reentrancy",
            "none of the properties that were named is asked of token",
        ),
        (
            "mutate set-nx-px --assume none --property reentrancy",
            "none of the properties that were named is asked of set-nx-px",
        ),
        (
            "scenario run gc-pause --lock nosuch",
            "no scenario that is played expects anything of `nosuch`, but of ",
        ),
        (
            "check redlock --nodes 8 --assume none",
            "it must be from 1 to 7",
        ),
        ("check token --assume ,", "--assume none"),
        (
            "check token --assume loss --budget client-pause=2",
            "no set of faults that is asked for has client-pause",
        ),
        ("walk token --moves 0", "1 move or more"),
    ] {
        lockproof(command).failed(USAGE, &[says]);
    }
}

#[test]
fn no_lock_file_has_more_servers_than_a_world() {
    let place = Place::new();
    let text = acquiring("    redis(\"SET\", lock.key, 1) return held()");
    place.write(
        "wide.lua",
        &text.replacen(
            "return {",
            "return { nodes = {default = 9, min = 1, max = 99},",
            1,
        ),
    );
    let said = place.run("check wide.lua --assume none");
    said.failed(USAGE, &["the number of nodes is 9; it must be from 1 to 7"]);
    let said = place.run("check wide.lua --assume none --nodes 7 --max-states 100");
    assert_ne!(said.code, Some(70), "{said:#?}");
}

#[test]
fn a_lock_that_nobody_acquires_is_not_told_to_set_an_expiry() {
    let place = Place::new();
    place.write("never.lua", &acquiring("    return busy()"));
    let said = place.run("check never.lua --assume none");
    assert!(said.out.contains("is never acquired"), "{said:#?}");
    assert!(!said.out.contains("What helps"), "{said:#?}");
    let said = place.run("frontier never.lua --assume loss --property lease");
    assert!(said.err.contains("is never acquired"), "{said:#?}");
    assert!(!said.out.contains("The shortest trace"), "{said:#?}");
}

#[test]
fn a_frontier_answers_for_what_is_asked_of_the_lock_alone() {
    let said = lockproof("frontier token --assume loss --format json");
    assert_eq!(said.code, Some(0), "{said:#?}");
    let answers: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let rows = answers["properties"].as_array().unwrap();
    let names: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["property"].as_str())
        .collect();
    assert!(
        names.contains(&"lease") && !names.contains(&"reentrancy"),
        "{names:?}"
    );
    assert!(
        rows.iter()
            .all(|row| row["unknown"].as_array().unwrap().is_empty())
    );
}
