//! What `check` and `run` tell of a lock beside its verdicts.

use crate::cli_support::*;

/// Two keys in one script; line 10 sends it.
const TWO_KEYS: &str = r#"return {
  name = "two-keys",
  keys = { lock = { "{key}:read", "{key}:write" } },
  scripts = { take = [[
    if redis.call("exists", KEYS[1], KEYS[2]) > 0 then return 0 end
    redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
    return 1
  ]] },
  acquire = function(lock)
    local got, err = script("take", { lock.key .. ":read", lock.key .. ":write" }, { lock.token, lock.ttl })
    if err then return failed(err.message) end
    if got == 0 then return busy() end
    return held()
  end,
  release = function(lock)
    return redis("DEL", lock.key .. ":read") == 1
  end,
  about = { works = "It writes one key, and looks at two." },
}
"#;

const WARNING: &str = "two.lua:10: on a Redis Cluster this is refused: keys lock:read and lock:write \
                       are in different slots; use {..} hash tags";

#[test]
fn keys_that_a_cluster_refuses_are_told_by_check_and_on_the_page_of_the_lock() {
    let place = Place::new();
    place.write("two.lua", TWO_KEYS);
    let said = place.run("check two.lua --assume none --property deadlock-freedom");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let warning = format!("warning: {WARNING}\n");
    assert_eq!(said.out.matches(&warning).count(), 1, "{}", said.out);
    place.write(
        "matrix.toml",
        "schema = \"lockproof.run/1\"\nseed = 3\nreplays = 1\nwalks = 1\nwalk_moves = 10\n\
         states_max = 1000000\n[[group]]\nlocks = [\"two.lua\", \"token\"]\n\
         assumptions = [[], [\"overrun\"]]\nproperties = [\"mutual-exclusion-belief\"]\n",
    );
    let said = place.run("run matrix.toml --out out");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let page = |name: &str| std::fs::read_to_string(place.path("out/locks").join(name)).unwrap();
    let two = page("two-keys.md");
    assert!(
        two.contains(&format!("\n## Warnings\n\n- {WARNING}\n")),
        "{two}"
    );
    assert!(
        two.contains("\n## How it works\n\nIt writes one key, and looks at two.\n"),
        "{two}"
    );
    assert!(
        two.contains("### mutual-exclusion-belief under overrun"),
        "{two}"
    );
    assert!(
        two.contains("breaks it, confirmed on a real server:"),
        "{two}"
    );
    let token = page("token.md");
    assert!(!token.contains("Warnings") && token.contains("## How to repair it"));
    assert!(page("README.md").contains("| [two-keys](two-keys.md) |"));
    // The same pages from the kept report.
    let said = place.run("report out/report.json --out again");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let again = std::fs::read_to_string(place.path("again/locks/two-keys.md")).unwrap();
    assert_eq!(again, two);
}

#[test]
fn a_wrong_word_about_a_lock_is_an_error_with_its_line() {
    let place = Place::new();
    place.write("two.lua", &TWO_KEYS.replace("works = ", "work = "));
    place.run("check two.lua").failed(
        USAGE,
        &["two.lua:18: `about` has no field `work`; did you mean `works`?"],
    );
}
