//! What the model cannot represent exactly is noticed where it happens, with file
//! and line: the horizon grows, or the answer is a refusal or `unknown`, and never
//! `holds`. That the guard of every check finds wrong tables is in `world_merges.rs`.

use crate::world_support::{NoClock, check, options, set, sizes, text, try_check};
use lockproof_model::check::{CheckError, CheckResult, Checker, Chosen, Sizes, Verdict};
use lockproof_model::lock::{Config, LockFile, Program};
use lockproof_model::world::closure::{Closure, Limits, Subject};
use lockproof_redis::ScriptEngine;

/// The body of acquire begins on line 2.
fn lock(acquire: &str, release: &str) -> LockFile {
    text(&format!(
        "return {{ acquire = function(lock)\n{acquire}\nend, release = function(lock)\n{release}\nend }}"
    ))
}

/// The message with which a lock of these two bodies is refused, with no fault on.
fn refusal(acquire: &str, release: &str) -> (CheckError, String) {
    refusal_of(&lock(acquire, release))
}

fn refusal_of(file: &LockFile) -> (CheckError, String) {
    let error = try_check(file, &sizes(file, 2), "").expect_err("the lock is refused");
    let message = error.to_string();
    (error, message)
}

/// Why nothing is said of this lock with no fault on. No property holds, and what is
/// violated may be said.
#[track_caller]
fn unknown(file: &LockFile) -> String {
    unknown_under(file, "")
}

#[track_caller]
fn unknown_under(file: &LockFile, words: &str) -> String {
    unanswered(file, words).unwrap_or_else(|held| panic!("{held} holds"))
}

/// The same, or what holds.
fn unanswered(file: &LockFile, words: &str) -> Result<String, String> {
    let mut reasons = Vec::new();
    for result in check(file, &sizes(file, 2), words) {
        match result.verdict {
            Verdict::Holds => return Err(result.property),
            Verdict::Violated => {}
            Verdict::Unknown => reasons.extend(result.reason),
        }
    }
    reasons.dedup();
    assert!(!reasons.is_empty(), "everything is violated");
    Ok(reasons.join("\n"))
}

/// The lock is refused or unknown, and the message has all of `parts`.
fn never_answered(file: &LockFile, parts: &[&str]) -> Result<(), String> {
    let message = match try_check(file, &sizes(file, 2), "") {
        Err(error) => error.to_string(),
        Ok(_) => unanswered(file, "")?,
    };
    match parts.iter().find(|part| !message.contains(**part)) {
        Some(part) => Err(format!("no {part:?} in {message}")),
        None => Ok(()),
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
}

fn verdict(results: &[CheckResult], property: &str) -> Verdict {
    let found = results.iter().find(|result| result.property == property);
    found.unwrap_or_else(|| panic!("no {property}")).verdict
}

const SET: &str =
    "if not redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) then return busy() end";
const DEL: &str = "redis('DEL', lock.key)";

// ---- times ----

#[test]
fn times_compared_within_the_horizon_are_taken() {
    let acquire = "if self.last and now() - self.last > 4000 then self.last = now() return failed('stale') end\n\
                   self.last = now()\nif not redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) \
                   then return busy() end return held()";
    let file = lock(acquire, DEL);
    check(&file, &sizes(&file, 2), "");
}

/// A waiter that takes the lock by force when it has waited for so many ms.
fn forcing(ms: i64) -> LockFile {
    let acquire = format!(
        "if redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) then self.since = nil return held() end\n\
         self.since = self.since or now()\n\
         if now() - self.since > {ms} then redis('SET', lock.key, lock.token, 'PX', lock.ttl) return held() end\n\
         return busy()"
    );
    lock(&acquire, DEL)
}

#[test]
fn the_horizon_grows_to_where_times_are_compared() {
    // Within the horizon of the set, and many times as far.
    for ticks in [4, 20, 120] {
        let file = forcing(ticks * 1000);
        let results = check(&file, &sizes(&file, 2), "");
        assert_eq!(
            verdict(&results, "mutual-exclusion-belief"),
            Verdict::Violated,
            "{ticks} ticks"
        );
    }
}

#[test]
fn times_compared_further_than_the_horizon_can_grow_are_unknown_with_their_line() {
    let message = unknown(&forcing(4_000_000));
    says(&message, &["my-lock.lua:4", "times"]);
}

#[test]
fn a_stored_time_that_gets_too_old_is_noticed_on_the_servers_too() {
    let stale = |ms: i64| {
        text(&format!(
            "return {{ scripts = {{ take = [[\n\
             local since = redis.call('GET', KEYS[1])\n\
             if since and tonumber(ARGV[1]) - tonumber(since) <= {ms} then return 0 end\n\
             redis.call('SET', KEYS[1], ARGV[1]) return 1]] }},\n\
             acquire = function(lock)\n\
             if script('take', {{ lock.key }}, {{ now() }}) == 1 then return held() end return busy() end,\n\
             release = function(lock) redis('DEL', lock.key) end }}"
        ))
    };
    // Over after two ticks, while the holder's work takes up to three.
    let file = stale(1500);
    let results = check(&file, &sizes(&file, 2), "");
    assert_ne!(verdict(&results, "mutual-exclusion-belief"), Verdict::Holds);
    // Further back than a holder's work takes, and it is right.
    let file = stale(4_000_000);
    let results = check(&file, &sizes(&file, 2), "");
    assert_eq!(verdict(&results, "mutual-exclusion-belief"), Verdict::Holds);
    // A dead client's stamp frees itself, as far as times are told.
    let file = stale(12_000);
    let results = check(&file, &sizes(&file, 2), "client-crash");
    assert_eq!(verdict(&results, "deadlock-freedom"), Verdict::Holds);
    let message = unknown_under(&stale(4_000_000), "client-crash");
    says(&message, &["my-lock.lua:6", "take", "times"]);
}

#[test]
fn digits_of_a_time_are_refused_with_their_line() {
    for expression in [
        "string.sub(now() .. '', 1, 5)",
        "now() % 2",
        "math.floor(now() / 1000)",
        "#(now() .. '')",
    ] {
        let file = lock(
            &format!(
                "local x = {expression}\nif x == 7 then return busy() end\n{SET}\nreturn held()"
            ),
            DEL,
        );
        let answer = never_answered(&file, &["my-lock.lua:"]);
        assert_eq!(answer, Ok(()), "{expression}");
    }
}

// ---- names ----

/// What is done with a name, in the expression of a condition.
fn with_names(condition: &str) -> LockFile {
    lock(
        &format!(
            "local other = redis('GET', lock.key)\nif {condition} then return failed('x') end\n{SET}\nreturn held()"
        ),
        "if redis('GET', lock.key) == lock.token then redis('DEL', lock.key) return true end return false",
    )
}

#[test]
fn names_that_are_ordered_cut_or_measured_are_never_answered_for() {
    let mut wrong = Vec::new();
    for condition in [
        "other and other < lock.owner",
        "lock.token < lock.owner",
        "string.sub(lock.token, 1, 1) == 'a'",
        "#lock.token > 20",
        "string.byte(lock.token) > 64",
        "string.find(lock.token, 'a')",
        "string.match(lock.token, '^%d')",
        "tonumber(lock.token)",
        "string.upper(lock.token) == lock.token",
        "string.reverse(lock.owner) == 'x'",
        "string.format('%90s', lock.token) == lock.token",
    ] {
        let answer = never_answered(&with_names(condition), &["my-lock.lua:3"]);
        wrong.extend(answer.err().map(|why| format!("{condition}: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What does not depend on the letters of a name has an answer.
#[test]
fn what_holds_for_every_name_is_exact() {
    for condition in [
        "lock.token == ''",
        "lock.token == lock.owner",
        "lock.token .. lock.token == 'x'",
        "lock.token .. 'a' == lock.token .. 'b'",
    ] {
        let file = with_names(condition);
        for result in check(&file, &sizes(&file, 2), "") {
            let text = format!("{condition}: {}: {:?}", result.property, result.reason);
            assert_eq!(result.verdict, Verdict::Holds, "{text}");
        }
    }
}

#[test]
fn names_in_scripts_are_never_answered_for_either() {
    for body in [
        "if ARGV[1] < ARGV[2] then return 0 end",
        "if string.sub(ARGV[1], 1, 1) == 'a' then return 0 end",
        "if #ARGV[1] > 20 then return 0 end",
        "if redis.sha1hex(ARGV[1]) < 'a' then return 0 end",
        "if redis.call('STRLEN', KEYS[1]) > 20 then return 0 end",
        "if redis.call('GETRANGE', KEYS[1], 0, 0) == 'a' then return 0 end",
    ] {
        let file = text(&format!(
            "return {{ scripts = {{ take = [[{body}\n\
             if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end return 0]] }},\n\
             acquire = function(lock)\n\
             if script('take', {{ lock.key }}, {{ lock.token, lock.owner, lock.ttl }}) == 1 then return held() end\n\
             return busy() end,\n\
             release = function(lock) redis('DEL', lock.key) end }}"
        ));
        let answer = never_answered(&file, &["my-lock.lua:4"]);
        assert_eq!(answer, Ok(()), "{body}");
    }
}

#[test]
fn names_that_are_joined_stored_and_split_again_are_taken() {
    let file = lock(
        "local mine = lock.owner .. ':' .. lock.token\n\
         if not redis('SET', lock.key, mine, 'NX', 'PX', lock.ttl) then return busy() end\nreturn held(lock.ttl)",
        "local found = redis('GET', lock.key)\nif not found then return false end\n\
         local owner, token = string.match(found, '^(.-):(.*)$')\n\
         if owner == lock.owner and token == lock.token then redis('DEL', lock.key) return true end\nreturn false",
    );
    let results = check(&file, &sizes(&file, 2), "");
    for result in results {
        assert_eq!(
            result.verdict,
            Verdict::Holds,
            "{}: {:?}",
            result.property,
            result.reason
        );
    }
}

#[test]
fn two_foreign_tokens_of_two_replies_that_are_compared_are_unknown_with_their_line() {
    let acquire = format!(
        "local first = redis('GET', lock.key)\nsleep(lock.ttl / 3)\nlocal second = redis('GET', lock.key)\n\
         if first ~= second then return busy() end\n{SET}\nreturn held()"
    );
    let message = unknown(&lock(&acquire, DEL));
    says(&message, &["my-lock.lua:5", "compares a token"]);
}

#[test]
fn two_foreign_tokens_of_one_reply_are_told_apart() {
    let file = text(&format!(
        "return {{ scripts = {{ both = [[return {{ redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) }}]] }},\n\
         acquire = function(lock)\n\
         local both = script('both', {{ lock.key, 'copy' }}, {{}})\n\
         if both and both[1] and both[1] == both[2] then return failed('twice') end\n{SET}\n\
         redis('SET', 'copy', lock.token, 'PX', lock.ttl) return held() end,\n\
         release = function(lock) redis('DEL', lock.key) end }}"
    ));
    let results = check(&file, &sizes(&file, 2), "");
    for result in results {
        assert_ne!(result.verdict, Verdict::Unknown, "{:?}", result.reason);
    }
}

#[test]
fn a_foreign_token_compared_with_ones_own_is_taken() {
    let release = "if redis('GET', lock.key) == lock.token then redis('DEL', lock.key) return true end return false";
    let file = lock(&format!("{SET}\nreturn held()"), release);
    check(&file, &sizes(&file, 2), "");
}

/// A lock that leaves its key behind, and remembers its token as `self.old`.
fn remembering(acquire: &str) -> LockFile {
    lock(
        &format!("{acquire}\nself.old = lock.token\n{SET}\nreturn held()"),
        "return false",
    )
}

#[test]
fn looking_for_an_old_token_of_ones_own_is_never_answered_for() {
    let at_once =
        "if self.old and redis('GET', lock.key) == self.old then return failed('mine') end";
    let later = "local found = redis('GET', lock.key)\nsleep(lock.ttl / 3)\n\
                 if self.old and found == self.old then return failed('mine') end";
    for (acquire, line) in [(at_once, "my-lock.lua:2"), (later, "my-lock.lua:4")] {
        let message = unknown(&remembering(acquire));
        says(&message, &[line, "token that it remembers", "Forget it"]);
    }
}

#[test]
fn an_old_token_that_is_remembered_and_not_looked_for_is_taken() {
    let file =
        remembering("if redis('GET', lock.key) == lock.token then return failed('fresh') end");
    check(&file, &sizes(&file, 2), "");
}

#[test]
fn a_foreign_token_that_is_sent_is_never_answered_for() {
    let acquire = format!(
        "{SET}\nlocal other = redis('GET', lock.key)\nif other and other ~= lock.token then redis('SET', 'seen', other) end\nreturn held()"
    );
    // Only where somebody else's token is found does it happen at all.
    let taken = lock(&acquire, DEL);
    check(&taken, &sizes(&taken, 2), "");
    let acquire = format!(
        "local other = redis('GET', lock.key)\nif other then redis('SET', 'seen', other) end\n{SET}\nreturn held()"
    );
    let message = unknown(&lock(&acquire, DEL));
    says(&message, &["my-lock.lua:3", "only its own present token"]);
}

// ---- what scripts and commands use ----

#[test]
fn messages_that_the_model_does_not_follow_are_refused_with_their_line() {
    let acquire = format!("redis('PUBLISH', 'asks', lock.token)\n{SET}\nreturn held()");
    let (error, message) = refusal(&acquire, DEL);
    assert!(matches!(error, CheckError::NotModelled(_)), "{message}");
    says(&message, &["my-lock.lua:2", "publishes"]);
    let acquire = format!("subscribe('wake')\n{SET}\nredis('WAIT', 1, 100)\nreturn held()");
    let (error, message) = refusal(&acquire, DEL);
    assert!(matches!(error, CheckError::NotModelled(_)), "{message}");
    says(&message, &["my-lock.lua", "WAIT beside messages"]);
}

#[test]
fn commands_that_the_model_does_not_have_are_refused_and_not_answered_as_unknown() {
    for (command, named) in [
        ("redis('append', 'log', 'x')", "the command APPEND"),
        (
            "redis('EVALSHA', 'x' .. lock.token, 0)",
            "names a script by a token",
        ),
        (
            "redis('SCRIPT', 'EXISTS', lock.owner)",
            "names a script by a token",
        ),
        (
            "redis('SCRIPT', 'LOAD', 'return ' .. lock.token)",
            "loads a script whose text has a token",
        ),
        ("redis('DELIFEQ', lock.key, 'x')", "the command DELIFEQ"),
        (
            "redis('SET', lock.key, 'x', 'ifeq', 'y')",
            "SET with IFEQ or its like",
        ),
        ("redis('script', 'Kill')", "SCRIPT KILL"),
        ("redis('WAIT', 2, 100)", "WAIT for 2 replicas"),
        (
            "redis('WAIT', 1, 900000)",
            "WAIT with a time-out of 900000 ms",
        ),
    ] {
        let (error, message) = refusal(&format!("{command}\n{SET}\nreturn held()"), DEL);
        assert!(matches!(error, CheckError::NotModelled(_)), "{message}");
        assert!(message.starts_with("my-lock.lua:2: the lock "), "{message}");
        says(&message, &[named]);
    }
}

/// A lock whose acquire runs this script, on line 3.
fn running(script: &str) -> LockFile {
    text(&format!(
        "return {{ scripts = {{ log = [[{script}]] }},\n\
         acquire = function(lock)\nscript('log', {{ 'log' }}, {{ 'pend' }})\n{SET}\nreturn held() end,\n\
         release = function(lock) redis('DEL', lock.key) end }}"
    ))
}

#[test]
fn commands_that_the_model_does_not_have_are_refused_in_scripts_however_they_are_named() {
    for script in [
        "return redis.call('APPEND', KEYS[1], 'x')",
        "local _ = redis.pcall ( \"append\", KEYS[1], 'x')",
        "return redis.call('APP' .. 'END', KEYS[1], 'x')",
        "return redis.call(string.lower('Ap') .. ARGV[1], KEYS[1], 'x')",
        "local ok = pcall(redis.call, 'append', KEYS[1], 'x') return 1",
        "return redis.call('wait', '1', '100')",
    ] {
        let (_, message) = refusal_of(&running(script));
        says(&message, &["my-lock.lua:3", "`log`"]);
        let command = if script.contains("wait") {
            "WAIT"
        } else {
            "APPEND"
        };
        says(&message, &[command]);
    }
}

#[test]
fn what_a_scripts_surroundings_lack_is_refused_and_not_hidden() {
    for script in [
        "return math.random(3)",
        "local ok = pcall(math.random, 3) return 1",
        "if redis.REDIS_VERSION_NUM then return 1 end return 0",
        "return os.clock()",
        "local s = 0 for i = 1, 1e9 do s = s + i end return s",
        "return #string.rep('x', 1e9)",
    ] {
        let (_, message) = refusal_of(&running(script));
        says(&message, &["my-lock.lua:3", "`log`"]);
    }
}

#[test]
fn what_locks_scripts_use_is_in_the_model() {
    for script in [
        "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], cjson.encode({n = 1}))",
        "return bit.band(12, 10)",
        "return redis.call('SET', KEYS[1], cmsgpack.pack({1, 2}))",
        "return redis.call('SET', KEYS[1], struct.pack('>I2', 3))",
        "return redis.sha1hex(ARGV[1])",
        "redis.log(redis.LOG_NOTICE, 'x') redis.replicate_commands() redis.setresp(2) return redis.status_reply('FINE')",
        "return redis.error_reply('NO no')",
    ] {
        let file = running(script);
        check(&file, &sizes(&file, 2), "");
    }
}

#[test]
fn the_words_of_a_transaction_are_refused_with_their_line() {
    for command in ["'Multi'", "'EXEC'", "'discard'"] {
        let name = command.trim_matches('\'');
        for (acquire, release, line) in [
            (
                format!("redis({command})\n{SET}\nreturn held()"),
                DEL.to_owned(),
                ":2",
            ),
            (
                format!("{SET}\nreturn held()"),
                format!("redis({command})\n{DEL}"),
                ":5",
            ),
        ] {
            let (_, message) = refusal(&acquire, &release);
            says(
                &message,
                &[
                    &format!("my-lock.lua{line}"),
                    &format!("redis(\"{name}\", ...)"),
                    "multi{",
                ],
            );
        }
    }
}

#[test]
fn a_script_that_begins_a_transaction_is_told_what_real_servers_say() {
    for command in [
        "'watch', KEYS[1]",
        "'multi'",
        "'exec'",
        "'discard'",
        "'unwatch'",
    ] {
        let script = format!(
            "local r = redis.pcall({command}) if not string.find(r.err, 'not allowed from script') then \
             return math.random(3) end return 1"
        );
        let file = running(&script);
        check(&file, &sizes(&file, 2), "");
    }
}

#[test]
fn the_servers_own_clock_and_fixed_dates_are_refused_with_their_line() {
    let expireat = format!("{SET}\nredis('EXPIREAT', lock.key, '1700000000')\nreturn held()");
    let held = format!("{SET}\nreturn held()");
    let time = format!("redis('TIME')\n{DEL}");
    for (acquire, release, line) in [(&expireat[..], DEL, ":3"), (&held, &time, ":5")] {
        let (_, message) = refusal(acquire, release);
        says(&message, &[&format!("my-lock.lua{line}")]);
    }
    for script in [
        "return redis.call('time')[1] ",
        "return redis.call('t' .. 'ime')",
    ] {
        let (_, message) = refusal_of(&running(script));
        says(&message, &["my-lock.lua:3", "`log`", "TIME"]);
    }
}

#[test]
fn a_script_that_does_not_compile_is_refused_when_the_file_is_loaded() {
    let error = LockFile::from_text(
        "my-lock.lua",
        "return { scripts = { never = [[\nlocal x = 1\nreturn x +]] }, acquire = function(lock) end, release = function(lock) end }",
        None,
    );
    let message = error.unwrap_err().to_string();
    says(
        &message,
        &["my-lock.lua", "`never`", "does not compile", "line 2"],
    );
}

#[test]
fn a_command_that_every_server_refuses_is_only_an_error() {
    for command in ["redis('EVAL')", "redis('SET', lock.key)"] {
        let acquire = format!(
            "local _, err = {command}\nif err.definite then return busy() end\nreturn held()"
        );
        let file = lock(&acquire, DEL);
        for result in check(&file, &sizes(&file, 2), "") {
            // Nobody ever acquires, and nothing else can go wrong.
            let stuck = result.property == "deadlock-freedom";
            let expected = if stuck {
                Verdict::Violated
            } else {
                Verdict::Holds
            };
            assert_eq!(result.verdict, expected, "{command}: {}", result.property);
        }
    }
}

#[test]
fn a_key_or_a_value_may_be_called_like_a_command() {
    let file = text(
        "return { keys = { lock = 'time' }, acquire = function(lock)\n\
         if redis('SETNX', 'time', 'expireat') == 0 then return busy() end\nreturn held() end,\n\
         release = function(lock) redis('DEL', 'time') end }",
    );
    check(&file, &sizes(&file, 2), "");
}

#[test]
fn a_lock_that_never_writes_its_key_is_refused_unless_it_says_which_is_its_lock() {
    let message = refusal(
        "if redis('SETNX', 'other', '1') == 0 then return busy() end\nreturn held()",
        "redis('DEL', 'other')",
    )
    .1;
    says(&message, &["my-lock.lua", "`other`", "keys = {"]);
}

#[test]
fn an_order_that_nobody_promises_is_unknown_where_it_matters() {
    let lists = |use_of_it: &str| {
        lock(
            &format!(
                "redis('HSET', 'seen', 'a', 1, 'b', 2)\nlocal all = redis('HKEYS', 'seen')\n\
                 if all and {use_of_it} then return failed('x') end\n{SET}\nreturn held()"
            ),
            DEL,
        )
    };
    let message = unknown(&lists("all[1] == 'a'"));
    says(&message, &["my-lock.lua:3", "order"]);
    let counted = lists("#all == 7");
    check(&counted, &sizes(&counted, 2), "");
}

// ---- what grows for ever ----

#[test]
fn a_counter_in_redis_that_grows_for_ever_is_unknown_and_never_holds() {
    let acquire = format!(
        "if redis('INCR', 'attempts') == 50 then return failed('x') end\n{SET}\nreturn held()"
    );
    let file = lock(&acquire, DEL);
    for result in check(&file, &sizes(&file, 2), "") {
        assert_ne!(result.verdict, Verdict::Holds, "{}", result.property);
        let reason = result.reason.unwrap_or_default();
        let counted = reason.contains("a counter in Redis that grew beyond what the model holds");
        assert!(counted || result.verdict == Verdict::Violated, "{reason}");
    }
}

fn closing(acquire: &str, limits: Limits) -> String {
    let file = lock(acquire, DEL);
    let sizes = sizes(&file, 2);
    let checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    // The needs of a lock that can be closed.
    let like = lock(&format!("{SET}\nreturn held()"), DEL);
    let mut other = Checker::new(&like, options(&sizes, 1)).unwrap();
    let world = other.world(&set("", 3)).unwrap();
    let needs = world.tables.needs.clone();
    let config = Config {
        scale: Some(needs.scale()),
        ..checker.config(&[])
    };
    let mut subject = Subject {
        second: None,
        program: &Program::start(&file, &config, "", 0).unwrap(),
        scripts: &mut ScriptEngine::new().unwrap(),
        rules: world.tables.closure.rules.clone(),
        renews: false,
        file: "my-lock.lua".into(),
        should_stop: &|| false,
    };
    let closed = Closure::build_within(&mut subject, needs, limits, None);
    closed.map(|_| ()).expect_err("it grows").to_string()
}

#[test]
fn a_counter_in_the_client_that_grows_for_ever_is_named() {
    let acquire = format!("self.rounds = (self.rounds or 50) + 1\n{SET}\nreturn held()");
    for limits in [
        Limits {
            locals: 500,
            ..Limits::default()
        },
        Limits {
            depth: 60,
            ..Limits::default()
        },
    ] {
        let message = closing(&acquire, limits);
        says(
            &message,
            &[
                "the client of this lock",
                "too many forms",
                "self.rounds",
                "bound what grows",
            ],
        );
    }
}

#[test]
fn a_text_in_redis_that_grows_for_ever_is_shown() {
    let limits = Limits {
        keyspaces: 40,
        ..Limits::default()
    };
    let message = closing(
        &format!("redis('RPUSH', 'log', 'x')\n{SET}\nreturn held()"),
        limits,
    );
    says(
        &message,
        &[
            "the content of a server",
            "too many forms",
            "`log`: a list of",
        ],
    );
}

#[test]
fn a_name_where_a_command_wants_a_number_or_a_time_is_refused() {
    let rows = [
        ("redis('INCRBY', lock.key, lock.token)", "as a number"),
        ("redis('SET', lock.key, 1, 'PX', lock.token)", "use PX"),
    ];
    for (command, part) in rows {
        let (_, message) = refusal(&format!("{command} return busy()"), "");
        says(&message, &[":2: ", part]);
    }
}

#[test]
fn a_life_in_seconds_between_two_ticks_is_unknown() {
    let acquire =
        "redis('SET', lock.key, 1, 'PX', 1500) sleep(1000) redis('TTL', lock.key) return busy()";
    says(&unknown(&lock(acquire, "")), &["use PTTL"]);
}

#[test]
fn a_listing_whose_order_nobody_knows_is_unknown() {
    let fields = "for i = 1, 5 do redis('HSET', lock.key, 'f' .. i, 1) end redis('HKEYS', lock.key) return busy()";
    says(&unknown(&lock(fields, "")), &["more than four fields"]);
}

#[test]
fn a_script_that_raises_a_token_is_unknown() {
    let file = text(
        "return { scripts = { raise = [[error('no ' .. ARGV[1])]] },\n\
         acquire = function(lock) script('raise', {}, { lock.token }) return busy() end,\n\
         release = function(lock) end }",
    );
    says(
        &unknown(&file),
        &["ends in an error whose text has a token"],
    );
}

#[test]
fn reentrancy_is_asked_of_reentrant_locks_alone() {
    let asked = |name: &str| {
        let file = LockFile::builtin(name).unwrap();
        let results = check(&file, &sizes(&file, 1), "");
        results.iter().any(|result| result.property == "reentrancy")
    };
    assert!(asked("reentrant-hash") && !asked("token"));
}

#[test]
fn a_search_that_did_not_end_warns_of_nothing_that_it_did_not_see() {
    let file = LockFile::builtin("token").unwrap();
    let mut options = options(&sizes(&file, 2), 1);
    options.explore.states_max = Some(3);
    let mut checker = Checker::new(&file, options).unwrap();
    let report = checker.check(&[Vec::new()], &NoClock).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
}

#[test]
fn what_no_check_looks_at_is_told() {
    let warnings = |file: &LockFile| {
        let mut checker = Checker::new(file, options(&sizes(file, 1), 1)).unwrap();
        checker.check(&[Vec::new()], &NoClock).unwrap().warnings
    };
    let nested = warnings(&LockFile::builtin("reentrant-hash").unwrap());
    says(&nested.join("\n"), &["two deep at most"]);
}

#[test]
fn combinations_that_are_not_followed_are_unknown() {
    for (name, words) in [
        ("token-wait", "node-pause"),
        ("token", "min-replicas node-restart-none"),
    ] {
        let reason = unknown_under(&LockFile::builtin(name).unwrap(), words);
        says(&reason, &["is not in the model yet"]);
    }
}

#[test]
fn a_replica_that_lags_by_more_writes_than_are_told_apart_is_refused() {
    let file = LockFile::builtin("token").unwrap();
    let error = try_check(&file, &sizes(&file, 2), "failover@5").unwrap_err();
    says(&error.to_string(), &["it must be from 1 to 4 writes"]);
}

#[test]
fn a_trace_is_replayed_on_servers_of_the_kind_that_its_faults_need() {
    let of = |name: &str, words: &str| {
        let file = LockFile::builtin(name).unwrap();
        let mut checker = Checker::new(&file, options(&sizes(&file, 2), 1)).unwrap();
        let set = set(words, 3);
        checker.world(&set).unwrap();
        let setup = checker.setup(&set);
        (setup.persistence, setup.replicas)
    };
    assert_eq!(of("token", "node-restart-everysec"), ("everysec".into(), 0));
    assert_eq!(of("token", "node-restart-always"), ("always".into(), 0));
    assert_eq!(of("token", "failover"), ("none".into(), 1));
    assert_eq!(of("token-wait", ""), ("none".into(), 1));
}

#[test]
fn finer_ticks_leave_times_as_long_as_they_were() {
    let file = lock("sleep(500) return held(250)", "");
    let sizes = Sizes {
        timeout_ticks: Some(2),
        ..sizes(&file, 2)
    };
    let never: lockproof_model::check::ShouldStop = std::sync::Arc::new(|| false);
    let finer = sizes.clone().fitted(&file, Chosen::default(), &never);
    let told = (finer.tick_ms, finer.ttl_ticks, finer.timeout_ticks);
    assert_eq!(told, (500, 6, Some(4)));
    let chosen = Chosen {
        ttl_ticks: true,
        tick_ms: false,
    };
    assert_eq!(sizes.clone().fitted(&file, chosen, &never), sizes);
}

#[test]
fn a_walk_ends_before_it_needs_letters_that_its_tokens_do_not_have() {
    let file = LockFile::from_text(
        "equal-scores.lua",
        include_str!("../soundness/scores/equal-scores.lua"),
        None,
    )
    .unwrap();
    let sizes = sizes(&file, 2);
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let lengths = |walks: Vec<lockproof_trace::Trace>| -> Vec<usize> {
        walks.iter().map(|walk| walk.steps.len()).collect()
    };
    let walks = checker.walks(&set("cancel client-skew", 3), 1..60, 60);
    let lengths = lengths(walks.unwrap());
    assert!(lengths.iter().any(|steps| *steps < 45), "{lengths:?}");
    assert!(lengths.iter().any(|steps| *steps > 55), "{lengths:?}");
}
