//! Each rule of the sandbox catches a lock file that breaks it, names the line
//! and says what to do.

use crate::lock_support::*;

use lockproof_model::lock::{LockError, LockFile, Program, Waiting};
use lockproof_redis::Reply;

/// The body breaks a rule on line 3 (its second line).
#[track_caller]
fn refused(body: &str, says: &str) {
    let error = error_of(body);
    assert!(
        error.starts_with("my-lock.lua:3: ") && error.contains(says),
        "{error}"
    );
}

#[test]
fn what_reaches_out_of_the_sandbox_is_not_there() {
    for (name, hint) in [
        ("io", "may not read or write files"),
        ("os", "use now()"),
        ("package", "into the one file"),
        ("require", "into the one file"),
        ("dofile", "into the one file"),
        ("loadfile", "into the one file"),
        ("load", "no line to point at"),
        ("loadstring", "no line to point at"),
        ("debug", "what it looks like"),
        ("getfenv", "no global variables"),
        ("setfenv", "no global variables"),
        ("_G", "no global variables"),
        ("rawget", "t[key]"),
        ("rawset", "t[key] = value"),
        ("rawequal", "=="),
        ("next", "pairs"),
        ("setmetatable", "plain data"),
        ("getmetatable", "plain data"),
        ("newproxy", "plain data"),
        ("coroutine", "spawn(fn)"),
        ("pcall", "nil, err"),
        ("xpcall", "nil, err"),
        ("collectgarbage", "memory"),
        ("print", "failed(reason)"),
        ("assert", "error(reason)"),
    ] {
        let says = format!("`{name}` is not available in a lock file");
        refused(&format!("\nlocal x = {name}"), &says);
        refused(&format!("\nlocal x = {name}"), hint);
    }
}

#[test]
fn library_functions_with_hidden_state_or_cost_are_not_there() {
    refused("\nlocal x = math.random(3)", "use random(n)");
    refused("\nmath.randomseed(3)", "use random(n)");
    refused("\nlocal s = string.dump(acquire)", "functions are no data");
    refused(
        "\nlocal s = string.gmatch('a', 'a')",
        "string.find with a start",
    );
    refused(
        "\nlocal s = ('a'):gmatch('a')",
        "attempt to call method 'gmatch'",
    );
    refused("\ntable.foreach({}, now)", "use pairs(t)");
}

#[test]
fn libraries_can_not_be_changed() {
    refused("\nstring.mine = 1", "can not be changed");
    refused("\nlock.key = 'other'", "lock can not be changed");
    refused("\nlock.params.x = 1", "can not be changed");
    refused("\nlock.nodes[1] = 2", "can not be changed");
}

#[test]
fn global_variables_can_be_neither_written_nor_read() {
    refused("\ncount = 1", "write `local count`");
    refused("\nredis = nil", "can not be assigned");
    refused("\nself = {}", "can not be assigned");
    refused("\nfunction helper() end", "write `local helper`");
    refused("\nlocal x = cuont", "`cuont` is not defined");
    refused("\nlocal x = lock.tll", "lock has no `tll`");
    refused(
        "\nlocal x = lock.params.period",
        "lock.params has no `period`",
    );
}

#[test]
fn varargs_are_what_they_are_in_lua() {
    let mut p = acquiring(
        "local function count(...) sleep(5) return select('#', ...) .. (select(2, ...)) end\nreturn failed(count(1, 'b', nil))",
    );
    step(&mut p, acquire("t1"));
    step(&mut p, advance(5));
    let out = step(&mut p, wake(0));
    assert!(format!("{out:?}").contains("3b"), "{out:?}");
}

#[test]
fn a_syntax_error_names_the_users_line() {
    let error = file("local a = f(1)\nlocal b = g(2)\nif a then then end").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("my-lock.lua:3: unexpected symbol near 'then'"),
        "{text}"
    );
    assert!(matches!(error, LockError::Syntax { .. }));
    let text = file("f(1)\ng(2)\nif a then\nh(3)\n")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("'end' expected (to close 'if' at line 3)"),
        "{text}"
    );
}

#[test]
fn a_loop_without_end_is_stopped() {
    refused("\nwhile true do end", "without waiting for anything");
    refused(
        "\nrepeat local t = {} until false",
        "without waiting for anything",
    );
    refused(
        "\nwhile true do stop(3) end",
        "without waiting for anything",
    );
    let error = file("local n = 0\nwhile true do n = n + 1 end\nreturn {}").unwrap_err();
    assert!(
        error.to_string().starts_with("my-lock.lua:2: a million"),
        "{error}"
    );
}

#[test]
fn a_loop_without_end_in_a_later_step_is_stopped_too() {
    refused(
        "redis('GET', 'x')\nwhile true do end",
        "without waiting for anything",
    );
}

#[test]
fn the_local_that_grows_has_a_name() {
    let mut p = acquiring("local tries = 0\nwhile true do tries = tries + 1 sleep(1) end");
    step(&mut p, acquire("t1"));
    let found = |p: &Program| p.locals();
    assert_eq!(found(&p), [("tries (line 3)".to_string(), "1".to_string())]);
    step(&mut p, advance(1));
    step(&mut p, wake(0));
    assert_eq!(found(&p), [("tries (line 3)".to_string(), "2".to_string())]);
}

#[test]
fn recursion_without_end_is_stopped() {
    refused(
        "local f\nf = function(n) return 1 + f(n + 1) end f(1)",
        "call each other without end",
    );
}

#[test]
fn waiting_deep_in_calls_comes_back_through_all_of_them() {
    let mut p = acquiring(
        "local function f(n) if n == 0 then sleep(1) return 0 end return 1 + f(n - 1) end\nreturn failed(f(70) .. '')",
    );
    step(&mut p, acquire("t1"));
    step(&mut p, advance(1));
    let out = step(&mut p, wake(0));
    assert!(format!("{out:?}").contains("70"), "{out:?}");
}

#[test]
fn memory_without_end_is_stopped() {
    refused("\nlocal s = string.rep('x', 1e9)", "more memory");
    refused("local s = 'x'\nwhile true do s = s .. s end", "more memory");
    refused(
        "local t = {}\nfor i = 1, 1e9 do t[i] = {} end",
        "my-lock.lua:3",
    );
}

#[test]
fn patterns_are_bounded_in_work_and_not_in_form() {
    refused(
        "\nlocal s = string.find(string.rep('a', 3000), '.-.-.-b')",
        "without waiting for anything",
    );
    let mut p = acquiring(
        "local at = string.find(string.rep('a', 5000) .. 'b-', 'b-', 1, true)\n\
         local long = string.gsub(string.rep('a', 600), 'a', function(x) return x .. 'b' end)\n\
         return failed(at .. (' %s'):format(string.match('k=12', '=(%d+)')) .. ('f(x)'):match('%b()') .. #long)",
    );
    let out = step(&mut p, acquire("t1"));
    assert!(format!("{out:?}").contains("5001 12(x)1200"), "{out:?}");
}

#[track_caller]
fn all_refused(rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(line, says)| {
            let error = error_of(&format!("\n{line}"));
            let fits = error.starts_with("my-lock.lua:3: ") && error.contains(says);
            (!fits).then(|| format!("{line}: {error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tables_and_functions_do_not_become_texts() {
    all_refused(&[
        ("local s = tostring({})", "a table as a text"),
        ("local s = tostring(now)", "a function as a text"),
        (
            "local s = string.format('%s', {})",
            "string expected, got table",
        ),
        (
            "local s = string.format('%s', lock)",
            "string expected, got table",
        ),
        (
            "redis('SET', {}, 1)",
            "argument 1 of the command: a table can not be",
        ),
        (
            "redis('SET', lock, 1)",
            "argument 1 of the command: a table can not be",
        ),
        ("redis({})", "needs the command's name"),
    ]);
}

#[test]
fn times_do_only_what_times_do() {
    let number = "computes with a time stamp as with a number";
    all_refused(&[
        ("local x = now() * 2", number),
        ("local x = now() / 2", number),
        ("local x = -now()", number),
        ("local x = now() % 10", number),
        ("local x = now() + now()", number),
        ("local x = 5 - now()", number),
        ("local x = now().ms", "attempt to index"),
        ("local x = #now()", "attempt to get length of"),
        ("sleep(now())", "needs a number of ms"),
        ("local t = {} t[now()] = 1", "as the key of a table"),
    ]);
}

/// What shows a time's digits runs for real, and has no answer in a model.
#[test]
fn in_a_model_a_times_digits_are_not_to_be_had() {
    for expression in ["now() < 1700000000000", "string.sub(tostring(now()), 1, 3)"] {
        let body = format!(
            "return {{ acquire = function(lock)\nlocal x = {expression}\nreturn busy() end, release = function(lock) end }}"
        );
        let mut p = start_model_of(&file(&body).unwrap());
        let error = p.step(&acquire("t1")).map(|_| expression).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("my-lock.lua:2: the lock "),
            "{expression}: {text}"
        );
    }
}

#[test]
fn durations_may_be_as_long_as_they_like() {
    let mut p = acquiring("sleep(20001)\nreturn busy()");
    step(&mut p, acquire("t1"));
    let left_ms = 20_001;
    assert_eq!(p.view().threads, [(0, Waiting::Sleep { left_ms })]);
}

#[test]
fn a_word_that_waits_inside_a_c_call_is_refused() {
    refused(
        "\ntable.sort({1, 2, 3}, function(a, b) sleep(1) return a < b end)",
        "where nothing can wait",
    );
    let error = file("local x = 1\nredis('GET', 'x')\nreturn {}").unwrap_err();
    assert!(
        error.to_string().starts_with("my-lock.lua:2: ")
            && error.to_string().contains("while the file is loaded"),
        "{error}"
    );
}

#[test]
fn an_iterator_may_wait() {
    let mut p = acquiring(
        "local function rows() return redis('GET', 'x') end\nlocal seen = ''\nfor row in rows do seen = seen .. row end\nreturn failed(seen)",
    );
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, bulk("a")));
    step(&mut p, reply(0, bulk("b")));
    let out = step(&mut p, reply(0, Reply::Nil));
    assert!(format!("{out:?}").contains("\"ab\""), "{out:?}");
}

/// What a state's key once could not write down.
#[test]
fn cycles_functions_and_what_is_not_a_number_are_kept_over_a_wait() {
    for (body, says) in [
        (
            "local t = {} t.t = t t.x = 'in'\nsleep(1) return failed(t.t.t.x)",
            "in",
        ),
        (
            "self.me = self self.x = 'in'\nsleep(1) return failed(self.me.me.x)",
            "in",
        ),
        (
            "self.f = function(x) return x .. '!' end\nsleep(1) return failed(self.f('in'))",
            "in!",
        ),
        (
            "local x = 0/0\nsleep(1) return failed(tostring(x ~= x))",
            "true",
        ),
        (
            "local t = {} local top = t for i = 1, 30 do t.t = {} t = t.t end t.x = 'in'\nsleep(1) \
             for i = 1, 30 do top = top.t end return failed(top.x)",
            "in",
        ),
    ] {
        let mut p = acquiring(body);
        step(&mut p, acquire("t1"));
        let mut other = acquiring(body);
        step(&mut other, acquire("t1"));
        assert_eq!(key(&p), key(&other), "{body}");
        step(&mut p, advance(1));
        let out = step(&mut p, wake(0));
        assert!(format!("{out:?}").contains(&format!("{says:?}")), "{out:?}");
    }
}

#[test]
fn a_file_level_local_that_changes_is_refused() {
    let text = "local count = 0\nreturn { acquire = function(lock)\n count = count + 1\n return busy() end,\n release = function(lock) end }";
    let error = run_to_error(&mut start_text(text));
    assert!(
        error.contains("`count` changed") && error.contains("self.count"),
        "{error}"
    );
}

#[test]
fn a_file_level_table_that_changes_is_refused_however_deep_it_hides() {
    let text = "local seen = { deep = {} }\nlocal function note(x) seen.deep.last = x end\n\
                return { acquire = function(lock) note(lock.token) return busy() end,\n release = function(lock) end }";
    let error = run_to_error(&mut start_text(text));
    assert!(
        error.starts_with("my-lock.lua:2: a table that the file made") && error.contains("`self`"),
        "{error}"
    );
}

#[test]
fn a_file_level_constant_and_helpers_that_call_each_other_are_fine() {
    let text = "local M = { names = { 'a', 'b' } }\nlocal function even(n) if n == 0 then return true end return not M.even(n - 1) end\n\
                M.even = even\nM.acquire = function(lock) if M.even(2) then sleep(5) end return failed(M.names[2]) end\n\
                M.release = function(lock) end\nM.names.c = nil\nreturn { acquire = M.acquire, release = M.release }";
    let mut p = start_text(text);
    step(&mut p, acquire("t1"));
    key(&p);
    step(&mut p, advance(5));
    let out = step(&mut p, wake(0));
    assert!(format!("{out:?}").contains("\"b\""), "{out:?}");
}

#[test]
fn a_file_level_time_is_refused() {
    let error = file("local t = now()\nreturn { acquire = function(lock) return held(now() - t) end, release = function(lock) end }").unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("my-lock.lua:1: "), "{text}");
    assert!(text.contains("call now() inside an operation"), "{text}");
}

#[test]
fn too_many_threads_are_refused() {
    let body = "local function work() sleep(10) end\nfor i = 1, 4 do spawn(work) end";
    refused(body, "at most 4 threads");
}

#[test]
fn outcomes_are_checked() {
    for (body, line, returned) in [
        ("return true", 2, "true;"),
        ("\nreturn 7", 3, "7;"),
        ("return 'held'", 2, "\"held\";"),
        ("return {}", 2, "a table;"),
        ("local function f()\nreturn 1 end\nreturn f()", 3, "1;"),
        (
            "return held",
            2,
            "a function (call it, with parentheses: held());",
        ),
        ("", 3, "nothing (does every way through it return?);"),
    ] {
        let error = error_of(body);
        let told = format!(
            ":{line}: acquire returned {returned} it may return held{{...}}, busy(), failed(reason) or lost()"
        );
        assert!(error.ends_with(&told), "{body}: {error}");
    }
    refused("\nreturn held{valid = 3}", "the fields `validity`");
    refused("\nreturn held('x')", "takes a number, not a string");
    refused("\nreturn held(now())", "takes a number");
    refused("\nreturn failed({})", "takes a text");
    let text = "return { acquire = function(lock) return held() end,\n release = function(lock) return busy() end }";
    let mut p = start_text(text);
    step(&mut p, acquire("t1"));
    let error = p.step(&release()).unwrap_err().to_string();
    let told = ":2: release returned busy(); it may return true";
    assert!(error.contains(told), "{error}");
}

#[test]
fn a_background_thread_has_no_outcome_but_lost() {
    let mut p = acquiring("spawn(function()\nreturn busy() end)\nreturn held()");
    step(&mut p, acquire("t1"));
    let error = p.step(&wake(1)).unwrap_err().to_string();
    assert!(
        error.starts_with("my-lock.lua:3: busy() is an outcome"),
        "{error}"
    );
}

#[test]
fn unknown_servers_scripts_and_options_are_refused() {
    refused(
        "\non(2).redis('GET', 'x')",
        "there is no server 2; lock.nodes lists 1 to 1",
    );
    refused("\non(0)", "counted from 1");
    refused("\non(1, {time_out = 5})", "no option `time_out`");
    refused(
        "\nscript('nothing', {}, {})",
        "declares no script `nothing`",
    );
    refused("\nrandom(0)", "from 1 to 255");
    refused("\nspawn(3)", "needs a function");
    refused("\nevery(0, now)", "at least 1 ms");
    refused("\nstop('x')", "stop(thread) takes");
    refused("\nstop()", "an operation ends by `return`");
}

#[test]
fn a_file_that_is_not_a_lock_is_refused_with_its_field() {
    let both = "acquire = function(lock) end, release = function(lock) end";
    for (text, says) in [
        ("return 5".to_string(), "the file returns a number"),
        (
            "return { acquire = function(lock) end }".into(),
            "the lock has no `release`",
        ),
        (
            format!("return {{ {both}, aquire = 1 }}"),
            "did you mean `acquire`?",
        ),
        (
            format!("return {{ {both}, renew = 5 }}"),
            "`renew` must be a function of `lock`, not a number",
        ),
        (
            format!("return {{ {both}, is_held = true }}"),
            "`is_held` must be a function of `lock`, not a boolean",
        ),
        (
            format!("return {{ {both}, try_acquire = {{}} }}"),
            "`try_acquire` must be a function of `lock`, not a table",
        ),
        (
            format!("return {{ {both}, renews_ = function(lock) end }}"),
            "`renews_` is not a field of a lock",
        ),
        (
            "return { try_acquire = function(lock) end, release = function(lock) end }".into(),
            "the lock has no `acquire`",
        ),
        (
            "return { acquire_read = function(lock) end, acquire_write = function(lock) end, \
             release = function(lock) end, try_acquire = function(lock) end }"
                .into(),
            "it belongs beside `acquire`",
        ),
        (
            format!("return {{ {both}, acquire_read = function(lock) end }}"),
            "has these two in place of `acquire`",
        ),
        (
            "return { acquire_read = function(lock) end, release = function(lock) end }".into(),
            "the lock has no `acquire_write`",
        ),
        (
            "return { acquire_read = 1, acquire_write = 2, release = function(lock) end }".into(),
            "`acquire_read` must be a function",
        ),
        (
            "return { acquire = 1, release = function(lock) end }".into(),
            "`acquire` must be a function",
        ),
        (format!("return {{ {both}, nodes = 0 }}"), "`nodes` must be"),
        (
            format!("return {{ {both}, nodes = {{default = 3}} }}"),
            "`nodes` must be",
        ),
        (
            format!("return {{ {both}, params = {{ x = 'y' }} }}"),
            "a number as its default",
        ),
        (
            format!("return {{ {both}, scripts = {{ 'no_such' }} }}"),
            "put it into lua/no_such.lua",
        ),
        (
            format!("return {{ {both}, scripts = {{ '../x' }} }}"),
            "can not be a script's name",
        ),
        (
            format!("return {{ {both}, reentrant = 1 }}"),
            "must be true or false",
        ),
        (
            format!("return {{ {both}, server = \"redis\" }}"),
            "`server` must be \"valkey\"",
        ),
        (
            format!("return {{ {both}, told_within = -1 }}"),
            ":1: `told_within` must be a number of leases from 0 to 2",
        ),
        (
            format!("return {{ {both}, told_within = 0 / 0 }}"),
            ":1: `told_within` must be a number of leases from 0 to 2",
        ),
        (
            format!("return {{ {both}, told_within = '1' }}"),
            ":1: `told_within` must be a number of leases from 0 to 2",
        ),
        (
            format!("return {{ {both}, ttl_step = 0 }}"),
            "positive whole number",
        ),
    ] {
        let error = file(&text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn a_field_that_is_wrong_is_refused_with_its_line_and_not_with_that_of_a_variable() {
    for (field, value) in [
        ("about", "3"),
        ("callers", "9"),
        ("cancelled", "1"),
        ("name", "'a b'"),
        ("name", "{}"),
        ("description", "1"),
        ("fair", "1"),
        ("keys", "1"),
        ("keys", "{ lock = 3 }"),
        ("nodes", "0"),
        ("objects", "9"),
        ("params", "1"),
        ("params", "{ wait = 'long' }"),
        ("reentrant", "1"),
        ("renews", "1"),
        ("scripts", "1"),
        ("scripts", "{ 'no_such' }"),
        ("scripts", "{ '../x' }"),
        ("scripts", "{ 'release_if_owner', mine = 'return (' }"),
        ("server", "'redis'"),
        ("told_within", "-1"),
        ("ttl_step", "0"),
        ("renew", "1"),
        ("try_acquire", "{}"),
        ("nodez", "1"),
    ] {
        let text = format!(
            "local {field} = 0\nreturn {{\n  acquire = function(lock)\n    local {field} = {{}}\n    return busy()\n  \
             end,\n  {field} = {value},\n  release = function(lock)\n    {field} = 1\n    return true\n  end,\n}}\n"
        );
        let error = file(&text).unwrap_err().to_string();
        assert!(error.starts_with("my-lock.lua:7: "), "{field}: {error}");
    }
    for value in [
        "params = {\n    a = 1,\n    b = 'x'",
        "scripts = {\n    a = 'return 1',\n    b = 'return ('",
    ] {
        let text = format!("return {{\n  acquire = f,\n  release = f,\n  {value}\n  }},\n}}\n");
        let error = file(&format!("local function f() end {text}"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("my-lock.lua:6: "), "{error}");
    }
}

#[test]
fn a_configuration_that_does_not_fit_is_refused() {
    let refused = |change: fn(&mut lockproof_model::lock::Config), says: &str| {
        let mut config = config(1);
        change(&mut config);
        let file = LockFile::builtin("setnx-expire").unwrap();
        let error = Program::start(&file, &config, "a", CLOCK).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    };
    refused(|c| c.nodes = 3, "1 to 1 servers");
    refused(|c| c.ttl_ms = 1_500, "multiple of 1000 ms");
    refused(|c| c.ttl_ms = 0, "multiple of 1000 ms");
    refused(|c| c.timeout_ms = 0, "must be positive");
    refused(
        |c| {
            c.params.insert("x".into(), 1.0);
        },
        "no parameter `x`",
    );
}

#[test]
fn inputs_that_are_not_possible_are_the_drivers_mistake_and_change_nothing() {
    let mut p = start("token");
    for input in [
        release(),
        nested(),
        wake(0),
        reply(0, ok()),
        reply(9, ok()),
        advance(-1),
    ] {
        let error = p.step(&input).unwrap_err();
        assert!(matches!(error, LockError::Driver { .. }), "{error}");
    }
    step(&mut p, acquire("t1"));
    assert!(p.step(&acquire("t2")).is_err());
    step(&mut p, reply(0, ok()));
    assert!(p.step(&nested()).is_err(), "token is not reentrant");
    step(&mut p, release());
}

#[test]
fn a_program_that_failed_answers_again_after_a_restart() {
    let mut p = acquiring("if self.again then return busy() end\nreturn nothing");
    p.step(&acquire("t1")).unwrap_err();
    assert!(matches!(p.step(&advance(1)), Err(LockError::Driver { .. })));
    p.restart(CLOCK).unwrap();
    assert!(matches!(p.step(&acquire("t1")), Err(LockError::Run { .. })));
}
