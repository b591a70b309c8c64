//! What a Redis Cluster would refuse is told, whatever the verdicts.

use crate::world_support::{NoClock, options, sizes, text};
use lockproof_model::check::Checker;
use lockproof_model::lock::LockFile;

/// A lock whose acquire has this body from line 3 on; `both` is a script with two keys.
fn lock(acquire: &str) -> LockFile {
    text(&format!(
        "return {{ keys = {{ lock = {{ \"{{key}}\", \"{{key}}:a\", \"{{key}}:b\", \"{{{{key}}}}:a\", \"{{{{key}}}}:b\", \"{{key}}:{{name}}\", \"{{{{key}}}}:{{name}}\" }} }},\n\
         scripts = {{ both = [[return redis.call('exists', KEYS[1])]] }}, acquire = function(lock)\n{acquire}\n\
         redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl)\nreturn busy()\nend, release = function(lock) end }}"
    ))
}

fn warnings(acquire: &str) -> Vec<String> {
    let file = lock(acquire);
    let mut checker = Checker::new(&file, options(&sizes(&file, 2), 1)).unwrap();
    let report = checker.check(&[Vec::new()], &NoClock).unwrap();
    let of_cluster = |one: &String| one.contains("Redis Cluster");
    let told: Vec<String> = report.warnings.into_iter().filter(of_cluster).collect();
    assert_eq!(checker.cluster_warnings(), told);
    told
}

#[track_caller]
fn refused(acquire: &str, line: u32, keys: &str) {
    assert_eq!(
        warnings(acquire),
        [format!(
            "my-lock.lua:{line}: on a Redis Cluster this is refused: keys {keys} are in different \
             slots; use {{..}} hash tags"
        )]
    );
}

#[test]
fn keys_in_different_slots_are_told_with_the_line_that_sends_them() {
    refused(
        "script('both', { lock.key .. ':a', lock.key .. ':b' }, {})",
        3,
        "lock:a and lock:b",
    );
    refused(
        "\nredis('DEL', lock.key, lock.key, lock.key .. ':b')",
        4,
        "lock and lock:b",
    );
    refused(
        "redis('MSET', lock.key .. ':a', 1, lock.key .. ':b', 2)",
        3,
        "lock:a and lock:b",
    );
}

#[test]
fn keys_with_one_hash_tag_are_not() {
    let none: [String; 0] = [];
    for acquire in [
        "script('both', { '{' .. lock.key .. '}:a', '{' .. lock.key .. '}:b' }, {})",
        "script('both', { lock.key, '{' .. lock.key .. '}:b' }, {})",
        "redis('DEL', '{' .. lock.key .. '}:' .. lock.token, '{' .. lock.key .. '}:a')",
    ] {
        assert_eq!(warnings(acquire), none, "{acquire}");
    }
}

#[test]
fn one_key_is_in_one_slot_whatever_stands_beside_it() {
    let none: [String; 0] = [];
    for acquire in [
        "script('both', { lock.key }, { lock.key .. ':b' })",
        "redis('DEL', lock.key)\nredis('DEL', lock.key .. ':b')",
        "redis('SET', lock.key, lock.key .. ':b', 'PX', lock.ttl)",
    ] {
        assert_eq!(warnings(acquire), none, "{acquire}");
    }
}

#[test]
fn keys_that_are_named_after_a_token_are_in_slots_of_their_own() {
    let told = warnings("redis('DEL', lock.key .. ':a', lock.key .. ':' .. lock.token)");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("keys lock:a and lock:<its own token> are"),
        "{told:?}"
    );
}

#[test]
fn of_the_built_in_locks_only_the_one_of_two_keys_can_not_be_in_a_cluster() {
    for name in lockproof_model::lock::builtin_names() {
        let file = LockFile::builtin(name).unwrap();
        let mut checker = Checker::new(&file, options(&sizes(&file, 1), 1)).unwrap();
        checker.check(&[Vec::new()], &NoClock).unwrap();
        let refused = !checker.cluster_warnings().is_empty();
        assert_eq!(refused, name == "rw-two-keys", "{name}");
    }
}
