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
            let Mutant {
                operator,
                file,
                line,
                before,
                after,
                ..
            } = mutant;
            format!("{file}:{line} {}: {before} => {after}", operator.name())
        })
        .collect()
}

/// Mutants of an acquire with this body, without their place.
fn of(body: &str) -> Vec<String> {
    let all = told(&acquiring(body)).into_iter();
    all.map(|mutant| mutant.split_once(' ').unwrap().1.to_owned())
        .collect()
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
    let wanted =
        [r#"small.lua:8 drop:  = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl) => "#];
    assert_eq!(found, wanted);
}
