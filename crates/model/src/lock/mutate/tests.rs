use super::*;

fn file(text: &str) -> LockFile {
    LockFile::from_text("small.lua", text, None).unwrap()
}

/// A lock whose acquire has this body.
fn acquiring(body: &str) -> LockFile {
    file(&format!(
        "return {{ acquire = function(lock)\n{body}\nend,\nrelease = function(lock) end }}"
    ))
}

fn told(file: &LockFile) -> Vec<String> {
    let mutants = file.mutants().into_iter();
    mutants
        .map(|mutant| {
            let place = format!("{}:{}", mutant.file, mutant.line);
            let (before, after) = (mutant.before, mutant.after);
            format!("{place} {}: {before} => {after}", mutant.operator.name())
        })
        .collect()
}

/// Mutants of an acquire with this body, without their place.
fn of(body: &str) -> Vec<String> {
    let all = told(&acquiring(body)).into_iter();
    all.map(|mutant| mutant.split_once(' ').unwrap().1.to_owned())
        .collect()
}

/// Those of one operator, without its name.
fn by(operator: Operator, body: &str) -> Vec<String> {
    let name = format!("{}: ", operator.name());
    let all = of(body).into_iter();
    all.filter_map(|mutant| mutant.strip_prefix(&name).map(str::to_owned))
        .collect()
}

/// The text of the lock with the first mutant of an operator.
fn first(operator: Operator, body: &str) -> String {
    let lock = acquiring(body);
    let mutant = lock.mutants().into_iter().find(|m| m.operator == operator);
    changed(&lock.text, &mutant.unwrap())
}

const SMALL: &str = r#"-- a == b
return {
  name = "small",
  scripts = { give = [[
    if redis.call("get", KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end
    return 1]] },
  acquire = function(lock)
    local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) -- not a and b
    if not set then return busy() end
    return held()
  end,
  release = function(lock)
    return script("give", { lock.key }, { lock.token }) == 1
  end,
}
"#;

#[test]
fn the_mutants_of_a_small_file_are_these() {
    let found = told(&file(SMALL));
    let set = r#"local set = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)"#;
    let order = format!(
        "small.lua:8 order: {set} -- not a and b\n    if not set then return busy() end => \
         if not set then return busy() end -- not a and b\n    {set}"
    );
    let given = r#"script("give", { lock.key }, { lock.token }) == 1"#;
    let given = ["true", "false", "nil"].map(|value| {
        let line = "small.lua:13 return";
        format!("{line}: {given} => {value}")
    });
    let wanted = [
        &order,
        r#"small.lua:8 drop:  = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) => "#,
        "small.lua:8 argument: lock.key, lock.token => lock.token, lock.key",
        "small.lua:8 argument: lock.token => lock.owner",
        r#"small.lua:8 option: , "NX" => "#,
        r#"small.lua:8 option: "NX" => "XX""#,
        r#"small.lua:8 option: , "PX", lock.ttl => "#,
        r#"small.lua:8 option: "PX", lock.ttl => "EX", lock.ttl"#,
        r#"small.lua:8 option: "PX", lock.ttl => "KEEPTTL""#,
        "small.lua:9 negation: not  => ",
        "small.lua:9 condition: not set => true",
        "small.lua:9 condition: not set => false",
        "small.lua:9 return: busy() => held()",
        "small.lua:10 return: held() => busy()",
        &given[0],
        &given[1],
        &given[2],
        "small.lua:13 argument: { lock.key }, { lock.token } => { lock.token }, { lock.key }",
        "small.lua:13 argument: lock.token => lock.owner",
        "small.lua:13 comparison: == => ~=",
        "small.lua:13 number: 1 => 2",
        "small.lua:13 number: 1 => 0",
        r#"small.lua:5 condition: redis.call("get", KEYS[1]) == ARGV[1] => true"#,
        r#"small.lua:5 condition: redis.call("get", KEYS[1]) == ARGV[1] => false"#,
        "small.lua:5 argument: KEYS[1] => ARGV[1]",
        "small.lua:5 comparison: == => ~=",
        "small.lua:5 argument: ARGV[1] => KEYS[1]",
        "small.lua:5 drop: redis.call('del', KEYS[1]) => ",
        "small.lua:5 argument: KEYS[1] => ARGV[1]",
        "small.lua:6 number: 1 => 2",
        "small.lua:6 number: 1 => 0",
        "small.lua:6 return: 1 => nil",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn comments_texts_and_what_runs_while_loading_are_left_alone() {
    let lock = file(
        "local limit = 3 + 4 -- 1 < 2\nreturn { ttl_step = 1000, params = { n = 5 },\n\
         acquire = function(lock) return failed('a == b or true') end,\n\
         release = function(lock) --[[ x = 1 + 1 ]] end }",
    );
    let held = "small.lua:3 return: failed('a == b or true') => held()";
    assert_eq!(told(&lock), [held]);
}

#[test]
fn signs_have_their_neighbours() {
    let found = of("local a = lock.ttl < 1 and lock.ttl >= 1 or lock.ttl ~= 1");
    for wanted in [
        "comparison: < => <=",
        "comparison: < => >=",
        "comparison: >= => >",
        "comparison: >= => <",
        "comparison: ~= => ==",
        "logic: and => or",
        "logic: or => and",
    ] {
        assert!(found.iter().any(|one| one == wanted), "{wanted}: {found:?}");
    }
    let found = by(
        Operator::Arithmetic,
        "local a = lock.ttl + 1 - lock.ttl / 2",
    );
    assert_eq!(found, ["+ => -", "- => +", "/ => *"]);
}

#[test]
fn numbers_are_one_more_one_less_nothing_and_the_other_unit() {
    let found = by(Operator::Number, "sleep(lock.ttl / 1000)");
    let wanted = ["1001", "999", "0", "1000000", "1"].map(|other| format!("1000 => {other}"));
    assert_eq!(found, wanted);
    assert_eq!(by(Operator::Number, "sleep(0)"), ["0 => 1", "0 => -1"]);
}

#[test]
fn statements_are_dropped_where_they_do_something() {
    let body = "local a, b = redis('GET', lock.key)\nlocal c = a\nself.x = c\nstop(self.x)";
    let found = by(Operator::Drop, body);
    let wanted = [
        " = redis('GET', lock.key) => ",
        "self.x = c => ",
        "stop(self.x) => ",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn neighbours_are_swapped_within_their_block_and_never_behind_its_end() {
    let body = "stop()\nif lock.ttl then lost() sleep(1) end\nreturn busy()";
    let found = by(Operator::Order, body);
    let wanted = [
        "stop()\nif lock.ttl then lost() sleep(1) end => if lock.ttl then lost() sleep(1) end\nstop()",
        "lost() sleep(1) => sleep(1) lost()",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn options_go_with_their_values_and_keep_their_quotes() {
    let found = by(
        Operator::Option,
        "redis('set', lock.key, '1', 'ex', 3, 'nx')",
    );
    let wanted = [
        ", 'ex', 3 => ",
        "'ex', 3 => 'px', 3",
        "'ex', 3 => 'keepttl'",
        ", 'nx' => ",
        "'nx' => 'xx'",
    ];
    assert_eq!(found, wanted);
    // A text of that letters is no option of another function.
    assert_eq!(by(Operator::Option, "self.x = tostring('NX')").len(), 0);
}

#[test]
fn commands_are_taken_for_similar_ones() {
    let found = by(
        Operator::Command,
        "redis('pexpire', lock.key, 1)\nredis('SETNX', lock.key, '1')\nredis('SET', lock.key, '1')",
    );
    assert_eq!(found, ["'pexpire' => 'expire'", "'SETNX' => 'SET'"]);
}

#[test]
fn arguments_of_scripts_are_exchanged() {
    let found = by(
        Operator::Argument,
        "script('x', { lock.key, lock.owner }, { 'a', 1, 2 })",
    );
    let wanted = [
        "{ lock.key, lock.owner }, { 'a', 1, 2 } => { 'a', 1, 2 }, { lock.key, lock.owner }",
        "lock.key, lock.owner => lock.owner, lock.key",
        "lock.owner => lock.token",
        "'a', 1 => 1, 'a'",
        "1, 2 => 2, 1",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn words_and_lines_do_not_run_together() {
    let text = first(Operator::Condition, "if(lock.ttl)then stop()end");
    assert!(text.contains("if true then stop()end"), "{text}");
    // Not the beginning of a comment.
    let lock = acquiring("sleep(1 -0)");
    let mutants = lock.mutants();
    let less = mutants.iter().find(|mutant| mutant.after == "-1").unwrap();
    let text = changed(&lock.text, less);
    assert!(text.contains("sleep(1 - -1)"), "{text}");
    // What is left out leaves its lines.
    let body = "redis('DEL',\nlock.key)\nstop()";
    let text = first(Operator::Drop, body);
    assert!(text.contains("\n\n\nstop()"), "{text:?}");
}

#[test]
fn a_mutant_is_a_lock_with_one_change() {
    let lock = file(SMALL);
    let mutants = lock.mutants();
    let find = |operator, line| {
        let mut all = mutants.iter();
        all.find(|mutant| mutant.operator == operator && mutant.line == line)
            .unwrap()
    };
    let own = lock.mutated(find(Operator::Negation, 9)).unwrap();
    assert!(own.text.contains("    if set then return busy() end"));
    assert_eq!(own.scripts, lock.scripts);
    assert_ne!(own.sha256, lock.sha256);
    let script = lock.mutated(find(Operator::Comparison, 5)).unwrap();
    assert_eq!(script.text, lock.text);
    assert!(script.scripts["give"].contains("KEYS[1]) ~= ARGV[1]"));
    assert_ne!(script.sha256, lock.sha256);
    let said = lock.line_of(find(Operator::Drop, 5));
    assert!(said.starts_with("if redis.call(\"get\""), "{said}");
}

#[test]
fn a_mutant_that_is_no_lock_is_refused_with_its_line() {
    let lock = file(SMALL);
    let mutants = lock.mutants();
    let with = |line: u32, after: &str| {
        let mutant = mutants.iter().find(|mutant| mutant.line == line).unwrap();
        let after = after.to_owned();
        let mutant = Mutant {
            after,
            ..mutant.clone()
        };
        lock.mutated(&mutant).unwrap_err().to_string()
    };
    assert!(with(9, "then").starts_with("small.lua:9: "));
    assert!(with(5, "then").contains("the script `give` does not compile: its line 1"));
}

#[test]
fn the_mutants_of_built_in_locks_change_something_each_time() {
    for name in crate::lock::builtin_names() {
        let lock = LockFile::builtin(name).unwrap();
        let mutants = lock.mutants();
        assert!(mutants.len() >= 20, "{name}: {}", mutants.len());
        let mut hashes = BTreeSet::new();
        for mutant in &mutants {
            if let Ok(file) = lock.mutated(mutant) {
                assert_ne!(file.sha256, lock.sha256, "{name}: {mutant:?}");
                assert!(hashes.insert(file.sha256), "{name}: twice: {mutant:?}");
                assert_eq!(file.text.lines().count(), lock.text.lines().count());
            }
        }
    }
}

#[test]
fn the_commands_of_a_transaction_are_changed_left_out_and_swapped() {
    let body = r#"multi { { "SETNX", lock.key, "1" }, { "PEXPIRE", lock.key, lock.ttl, "GT" } }"#;
    let swap = concat!(
        r#"{ "SETNX", lock.key, "1" }, { "PEXPIRE", lock.key, lock.ttl, "GT" } => "#,
        r#"{ "PEXPIRE", lock.key, lock.ttl, "GT" }, { "SETNX", lock.key, "1" }"#,
    );
    assert_eq!(by(Operator::Order, body), [swap]);
    assert_eq!(
        by(Operator::Command, body),
        [r#""SETNX" => "SET""#, r#""PEXPIRE" => "EXPIRE""#]
    );
    assert_eq!(
        by(Operator::Option, body),
        [r#", "GT" => "#, r#""GT" => "LT""#]
    );
    assert_eq!(
        by(Operator::Argument, body),
        [
            r#"lock.key, "1" => "1", lock.key"#,
            "lock.key, lock.ttl => lock.ttl, lock.key"
        ]
    );
    let dropped = by(Operator::Drop, body);
    assert!(
        dropped.contains(&r#"{ "SETNX", lock.key, "1" },  => "#.into()),
        "{dropped:?}"
    );
    let last = r#", { "PEXPIRE", lock.key, lock.ttl, "GT" } => "#;
    assert!(dropped.contains(&last.into()), "{dropped:?}");
}

#[test]
fn a_transaction_keeps_its_only_command() {
    let dropped = by(
        Operator::Drop,
        r#"local all = multi { { "DEL", lock.key } }"#,
    );
    assert_eq!(dropped.len(), 1, "the call as a whole: {dropped:?}");
}
