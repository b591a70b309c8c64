//! Who holds which key: of what servers were seen to do, and at the end. Hand-made
//! histories with known answers.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotObserved, Unknown, Violated};

const REENTRANT: &str = r#""reentrant":true"#;

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[test]
fn an_entry_is_held_by_who_holds_that_key_and_by_each_acquire_of_it() {
    let claims =
        "0 0 invoke acquire {\"key\":\"K\"}\n1 c0 send 1 SETNX K 1\n2 c0 ok 1 1\n3 0 ok acquire\n";
    let acquire = |key: &str, rest: &str| {
        let claim = claims.replace('K', key);
        leak(format!("{claim}{rest}"))
    };
    let del = "10 c1 send 9 DEL a\n11 c1 ok 9 1";
    all_as_known(
        "owner-only-release",
        &[
            case(
                "another key than the one that it holds",
                acquire(
                    "a",
                    &format!(
                        "4 0 invoke release\n5 0 ok release\n6 0 invoke acquire {{\"key\":\"b\"}}\n7 0 ok acquire\n{del}"
                    ),
                ),
                NotObserved,
                0,
            ),
            case(
                "the key that it holds, though it released another",
                acquire(
                    "a",
                    &format!(
                        "4 0 invoke acquire {{\"key\":\"b\"}}\n5 0 ok acquire\n6 0 invoke release\n7 0 ok release\n{del}"
                    ),
                ),
                Violated,
                1,
            ),
            case(
                "it asked again, and holds all the same",
                acquire(
                    "a",
                    &format!("4 0 invoke acquire {{\"key\":\"a\"}}\n5 0 fail acquire\n{del}"),
                ),
                Violated,
                1,
            ),
            with(
                REENTRANT,
                case(
                    "a nested release leaves the outer one",
                    acquire(
                        "a",
                        &format!(
                            "4 0 invoke acquire {{\"key\":\"a\"}}\n5 0 ok acquire\n6 0 invoke release\n7 0 ok release\n{del}"
                        ),
                    ),
                    Violated,
                    1,
                ),
            ),
            case(
                "a name that no acquire used, and two keys to choose from",
                acquire(
                    "a",
                    "4 0 invoke acquire {\"key\":\"b\"}\n5 c0 send 2 SETNX b:1 1\n6 c0 ok 2 1\n7 0 ok acquire\n8 0 invoke release\n9 0 ok release\n10 c1 send 9 DEL b:1\n11 c1 ok 9 1",
                ),
                Unknown,
                0,
            ),
            case(
                "its success came when the removal was sent, and may be later",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n4 0 ok acquire\n4 c1 send 2 DEL k\n5 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "a script's reply at the time of its acquire's success is of that acquire",
                "0 0 invoke acquire\n1 c0 send 1 EVAL s 1 k\n3 0 ok acquire\n3 c0 ok 1 1\n4 c1 send 2 DEL k\n5 c1 ok 2 1",
                Violated,
                1,
            ),
        ],
    );
}

#[test]
fn what_is_left_is_asked_of_all_that_its_owner_did() {
    let key = |name: &str| {
        format!(
            r#"9 harness ok final-keys {{"keys":[{{"node":0,"key":"{name}","pttl_ms":-1,"owner":0}}],"after_ms":0}}"#
        )
    };
    let twice = "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 ok acquire\n";
    let released = "4 0 invoke release\n5 0 ok release\n";
    let left = |before: &str, name: &str| leak(format!("{before}{}", key(name)));
    all_as_known(
        "no-orphan",
        &[
            case(
                "one release ends both acquires, if the lock is not reentrant",
                left(&format!("{twice}{released}"), "k"),
                Violated,
                1,
            ),
            with(
                REENTRANT,
                case(
                    "with a reentrant lock it holds",
                    left(&format!("{twice}{released}"), "k"),
                    NotObserved,
                    0,
                ),
            ),
            with(
                REENTRANT,
                case(
                    "until it has released twice",
                    left(
                        &format!("{twice}{released}6 0 invoke release\n7 0 ok release\n"),
                        "k",
                    ),
                    Violated,
                    1,
                ),
            ),
            with(
                REENTRANT,
                case(
                    "a nested acquire of unknown outcome may be left",
                    left(
                        "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 info acquire\n4 0 invoke release\n5 0 ok release\n",
                        "k",
                    ),
                    Unknown,
                    0,
                ),
            ),
            case(
                "who gave up and asked again in vain does not hold",
                left(
                    "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 0 info release\n4 0 invoke acquire\n5 0 fail acquire\n",
                    "k",
                ),
                Violated,
                1,
            ),
            case(
                "another key of its own does not help",
                left(
                    "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire\n2 0 invoke release\n3 0 ok release\n4 0 invoke acquire {\"key\":\"b\"}\n5 0 ok acquire\n",
                    "a",
                ),
                Violated,
                1,
            ),
            case(
                "a name of the lock's own belongs to what it holds",
                left(
                    "0 0 invoke acquire {\"key\":\"b\"}\n1 0 ok acquire\n",
                    "b:queue",
                ),
                NotObserved,
                0,
            ),
            case(
                "released at the time of the read",
                left(
                    "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n9 0 ok release\n",
                    "k",
                ),
                NotObserved,
                0,
            ),
            case(
                "dead at the time of the read",
                left(
                    "0 0 invoke acquire\n1 0 ok acquire\n9 nemesis info crash {\"client\":0}\n",
                    "k",
                ),
                NotObserved,
                0,
            ),
            case(
                "an acquire that fails in the end held nothing",
                leak(format!(
                    "0 0 invoke acquire\n{}\n10 0 fail acquire",
                    key("k")
                )),
                Violated,
                1,
            ),
            case(
                "one that succeeds in the end was before the read",
                leak(format!("0 0 invoke acquire\n{}\n10 0 ok acquire", key("k"))),
                NotObserved,
                0,
            ),
            case(
                "who was started again and releases nothing holds nothing",
                left(
                    "0 0 invoke acquire\n1 nemesis info crash {\"client\":0}\n2 0 invoke release\n3 0 info release\n",
                    "k",
                ),
                Violated,
                1,
            ),
        ],
    );
}

#[test]
fn nobody_who_holds_another_key_is_in_the_way() {
    let both = "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire\n2 0 invoke acquire {\"key\":\"b\"}\n3 0 info acquire\n4 0 invoke release {\"key\":\"b\"}\n5 0 ok release\n";
    let fail =
        |before: &str, key: &str| leak(format!("{before}9 harness fail final-acquire {key}"));
    all_as_known(
        "deadlock-freedom",
        &[
            case("it released b and holds a", fail(both, ""), Unknown, 0),
            case(
                "a was tried, which it holds",
                fail(both, "{\"key\":\"a\"}"),
                Unknown,
                0,
            ),
            case(
                "b was tried, which nobody holds",
                fail(both, "{\"key\":\"b\"}"),
                Violated,
                1,
            ),
            case(
                "released while it was tried",
                "0 0 invoke acquire\n1 0 ok acquire\n2 harness invoke final-acquire\n3 0 invoke release\n4 0 ok release\n9 harness fail final-acquire",
                Unknown,
                0,
            ),
            case(
                "released when it was tried",
                "0 0 invoke acquire\n1 0 ok acquire\n3 0 invoke release\n9 0 ok release\n9 harness fail final-acquire",
                Unknown,
                0,
            ),
            case(
                "an acquire that fails in the end held nothing",
                "0 0 invoke acquire\n9 harness fail final-acquire\n10 0 fail acquire",
                Violated,
                1,
            ),
            case(
                "one that nobody knows of may have held",
                "0 0 invoke acquire\n9 harness fail final-acquire\n10 0 info acquire",
                Unknown,
                0,
            ),
        ],
    );
}
