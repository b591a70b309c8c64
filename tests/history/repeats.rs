//! What a client does more than once, and what a coarse clock makes of it: hand-made
//! histories with known answers.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotObserved, Unknown, Violated};

const REENTRANT: &str = r#""reentrant":true"#;

/// A validity.
fn ok(time: u64, client: u32, ms: u64) -> String {
    format!("{time} {client} ok acquire {{\"validity_ms\":{ms}}}\n")
}

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[test]
fn a_hold_of_no_length_within_another_is_an_overlap() {
    for oracle in ["mutual-exclusion-belief", "mutual-exclusion-validity"] {
        all_as_known(
            oracle,
            &[
                case(
                    "acquired and released at one time, while another holds",
                    "0 0 invoke acquire\n2 0 ok acquire\n4 1 invoke acquire\n5 1 ok acquire\n5 1 invoke release\n9 0 invoke release",
                    Violated,
                    1,
                ),
                case(
                    "told that it is lost at the same time",
                    "0 0 invoke acquire\n2 0 ok acquire\n4 1 invoke acquire\n5 1 ok acquire\n5 1 info lost\n9 0 invoke release",
                    Violated,
                    1,
                ),
                case(
                    "dead at the same time",
                    "0 0 invoke acquire\n2 0 ok acquire\n4 1 invoke acquire\n5 1 ok acquire\n5 nemesis info crash {\"client\":1}\n9 0 invoke release",
                    Violated,
                    1,
                ),
                case(
                    "at the beginning of the other it may have been before",
                    "0 0 invoke acquire\n0 1 invoke acquire\n5 0 ok acquire\n5 1 ok acquire\n5 1 invoke release\n9 0 invoke release",
                    NotObserved,
                    0,
                ),
                case(
                    "at the end of the other it may have been after",
                    "0 0 invoke acquire\n0 1 invoke acquire\n2 0 ok acquire\n5 1 ok acquire\n5 1 invoke release\n5 0 invoke release",
                    NotObserved,
                    0,
                ),
                case(
                    "two of no length at one time come one after the other",
                    "0 0 invoke acquire\n0 1 invoke acquire\n5 0 ok acquire\n5 1 ok acquire\n5 1 invoke release\n5 0 invoke release",
                    NotObserved,
                    0,
                ),
                case(
                    "within one that is only possible",
                    "0 0 invoke acquire\n4 1 invoke acquire\n5 1 ok acquire\n5 1 invoke release\n9 0 info acquire",
                    Unknown,
                    0,
                ),
                case(
                    "where one hold follows another at once, it is within neither",
                    "0 0 invoke acquire\n0 1 invoke acquire\n2 0 ok acquire\n5 0 invoke release\n5 0 ok release\n5 0 invoke acquire\n5 0 ok acquire\n5 1 ok acquire\n5 1 invoke release\n9 0 invoke release",
                    NotObserved,
                    0,
                ),
            ],
        );
    }
}

#[test]
fn each_acquire_has_its_own_validity() {
    let twice = |first: u64, second: u64| {
        let (first, second) = (ok(0, 0, first), ok(2, 0, second));
        format!("0 0 invoke acquire\n{first}2 0 invoke acquire\n{second}")
    };
    let other = "8 1 invoke acquire\n9 1 ok acquire\n";
    let release = "5 0 invoke release\n6 0 ok release\n";
    all_as_known(
        "mutual-exclusion-validity",
        &[
            case(
                "a shorter one does not end a longer one",
                leak(format!("{}{other}", twice(20, 3))),
                Violated,
                1,
            ),
            case(
                "a longer one goes on",
                leak(format!("{}{other}", twice(3, 20))),
                Violated,
                1,
            ),
            case(
                "both are over",
                leak(format!("{}{other}", twice(3, 3))),
                NotObserved,
                0,
            ),
            case(
                "one release ends both, if the lock is not reentrant",
                leak(format!("{}{release}{other}", twice(20, 20))),
                NotObserved,
                0,
            ),
            with(
                REENTRANT,
                case(
                    "a release ends the nested one, and its validity with it",
                    leak(format!("{}{release}{other}", twice(3, 20))),
                    NotObserved,
                    0,
                ),
            ),
            with(
                REENTRANT,
                case(
                    "and not the outer one",
                    leak(format!("{}{release}{other}", twice(20, 3))),
                    Violated,
                    1,
                ),
            ),
            with(
                REENTRANT,
                case(
                    "a nested one in doubt leaves open which one was released",
                    leak(format!(
                        "0 0 invoke acquire\n{}2 0 invoke acquire\n3 0 info acquire\n{release}{other}",
                        ok(0, 0, 20)
                    )),
                    Unknown,
                    0,
                ),
            ),
            case(
                "an acquire that succeeded when its validity was over holds at no time",
                leak(format!(
                    "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n{}",
                    ok(9, 1, 0)
                )),
                NotObserved,
                0,
            ),
        ],
    );
    all_as_known(
        "mutual-exclusion-belief",
        &[
            case(
                "who acquires again in vain still holds",
                "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 fail acquire\n4 1 invoke acquire\n5 1 ok acquire",
                Violated,
                1,
            ),
            with(
                REENTRANT,
                case(
                    "a release that failed may be called again, and end nothing further",
                    "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 ok acquire\n4 0 invoke release\n5 0 fail release\n6 0 invoke release\n7 0 ok release\n8 1 invoke acquire\n9 1 ok acquire",
                    Unknown,
                    0,
                ),
            ),
        ],
    );
}

#[test]
fn lost_while_an_acquire_is_open_may_mean_either_lock() {
    let told = "0 0 invoke acquire\n1 0 info lost\n2 0 ok acquire\n";
    let other = "3 1 invoke acquire\n4 1 ok acquire\n5 1 invoke release\n6 1 ok release\n";
    let left = r#"9 harness ok final-keys {"keys":[{"node":0,"key":"k","pttl_ms":-1,"owner":0}],"after_ms":0}"#;
    let removed = "0 0 invoke acquire\n0 c0 send 1 SETNX k 1\n1 c0 ok 1 1\n1 0 info lost\n2 0 ok acquire\n4 c1 send 2 DEL k\n5 c1 ok 2 1";
    let several = "0 0 invoke acquire {\"key\":\"a\"}\n1 0 info lost {\"key\":\"b\"}\n2 0 ok acquire\n3 1 invoke acquire {\"key\":\"a\"}\n4 1 ok acquire";
    for (oracle, events, verdict) in [
        ("mutual-exclusion-belief", format!("{told}{other}"), Unknown),
        (
            "mutual-exclusion-validity",
            format!("{told}{other}"),
            Unknown,
        ),
        ("mutual-exclusion-belief", several.into(), Violated),
        (
            "deadlock-freedom",
            format!("{told}9 harness fail final-acquire"),
            Unknown,
        ),
        (
            "deadlock-freedom",
            "0 0 invoke acquire\n1 0 info lost\n9 harness fail final-acquire".into(),
            Unknown,
        ),
        ("no-orphan", format!("{told}{left}"), Unknown),
        (
            "no-orphan",
            format!("0 0 invoke acquire\n1 0 info lost\n{left}"),
            Unknown,
        ),
        (
            "no-orphan",
            format!("0 0 invoke acquire\n1 0 info lost\n2 0 fail acquire\n{left}"),
            Violated,
        ),
        ("owner-only-release", removed.into(), Unknown),
    ] {
        let text = spoken("", &events);
        let judgement = judged(&text);
        let found = finding(&judgement, oracle);
        assert_eq!(found.verdict, verdict, "{oracle}\n{text}{found:#?}");
    }
}

#[test]
fn a_release_says_the_truth_or_not_however_often_it_is_called() {
    let taken = "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n";
    let after = |rest: &str| leak(format!("{taken}{rest}"));
    let boasts = "8 0 invoke release\n9 0 ok release {\"effect\":true}";
    all_as_known(
        "honest-outcome",
        &[
            case(
                "after one of unknown outcome",
                after(&format!("4 0 invoke release\n5 0 info release\n{boasts}")),
                Violated,
                1,
            ),
            case(
                "after one that failed",
                after(&format!("4 0 invoke release\n5 0 fail release\n{boasts}")),
                Violated,
                1,
            ),
            case(
                "after one that had no effect",
                after(&format!(
                    "4 0 invoke release\n5 0 ok release {{\"effect\":false}}\n{boasts}"
                )),
                Violated,
                1,
            ),
            with(
                REENTRANT,
                case(
                    "also of a reentrant lock",
                    after(&format!("4 0 invoke release\n5 0 info release\n{boasts}")),
                    Violated,
                    1,
                ),
            ),
            case(
                "after it was told that its lock is gone",
                after(&format!("4 0 info lost\n{boasts}")),
                Violated,
                1,
            ),
            case(
                "the other one succeeded at the time of the call",
                "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n3 0 invoke release\n9 0 ok release {\"effect\":true}",
                NotObserved,
                0,
            ),
            case(
                "the other one asked at the time of its own success",
                "0 0 invoke acquire\n1 0 ok acquire\n1 1 invoke acquire\n3 1 ok acquire\n8 0 invoke release\n9 0 ok release {\"effect\":true}",
                NotObserved,
                0,
            ),
            case(
                "it acquired again after the other one",
                after(&format!("4 0 invoke acquire\n5 0 ok acquire\n{boasts}")),
                NotObserved,
                0,
            ),
            case(
                "it acquired again, perhaps",
                after(&format!("4 0 invoke acquire\n5 0 info acquire\n{boasts}")),
                Unknown,
                0,
            ),
            case(
                "the other one got it, perhaps",
                leak(format!(
                    "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 info acquire\n{boasts}"
                )),
                Unknown,
                0,
            ),
            with(
                REENTRANT,
                case(
                    "a nested release of a lock that was gone",
                    leak(format!(
                        "0 0 invoke acquire\n1 0 ok acquire\n1 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n{boasts}"
                    )),
                    Violated,
                    1,
                ),
            ),
            with(
                REENTRANT,
                case(
                    "nested after the other one, and the outer one is gone",
                    after(&format!(
                        "4 0 invoke acquire\n5 0 ok acquire\n6 0 invoke release\n7 0 ok release {{\"effect\":true}}\n{boasts}"
                    )),
                    Violated,
                    1,
                ),
            ),
            case(
                "another key was taken",
                "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire\n2 1 invoke acquire {\"key\":\"b\"}\n3 1 ok acquire\n4 0 invoke release\n5 0 ok release {\"effect\":true}",
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn a_fence_that_an_earlier_owner_had_does_not_come_back() {
    let got = |time: u64, client: u32, fence: u64| {
        format!(
            "{time} {client} invoke acquire\n{} {client} ok acquire {{\"fence\":{fence}}}\n",
            time + 1
        )
    };
    let all = |grants: &[(u64, u32, u64)]| {
        let grants = grants.iter().map(|(at, who, fence)| got(*at, *who, *fence));
        leak(grants.collect())
    };
    all_as_known(
        "fence-monotonicity",
        &[
            case(
                "2, another's 3, and 2 again",
                all(&[(0, 0, 2), (2, 1, 3), (4, 0, 2)]),
                Violated,
                1,
            ),
            case(
                "2, another's without a fence, and 2 again",
                leak(format!(
                    "{}2 1 invoke acquire\n3 1 ok acquire\n{}",
                    got(0, 0, 2),
                    got(4, 0, 2)
                )),
                Violated,
                1,
            ),
            case(
                "2, another's perhaps, and 2 again",
                leak(format!(
                    "{}2 1 invoke acquire\n3 1 info acquire\n{}",
                    got(0, 0, 2),
                    got(4, 0, 2)
                )),
                Unknown,
                0,
            ),
            case(
                "2, another that only overlaps, and 2 again",
                leak(format!(
                    "{}2 1 invoke acquire\n{}9 1 ok acquire {{\"fence\":3}}",
                    got(0, 0, 2),
                    got(4, 0, 2)
                )),
                NotObserved,
                0,
            ),
            case(
                "its own before the last one",
                all(&[(0, 0, 2), (2, 0, 3), (4, 0, 2)]),
                Violated,
                1,
            ),
            case(
                "another granted at the time of its call was not before it",
                "0 0 invoke acquire\n0 1 invoke acquire\n3 0 ok acquire {\"fence\":3}\n3 2 invoke acquire\n4 2 ok acquire {\"fence\":2}\n5 1 fail acquire",
                NotObserved,
                0,
            ),
            case(
                "another key's fences are its own",
                "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire {\"fence\":2}\n2 1 invoke acquire {\"key\":\"b\"}\n3 1 ok acquire {\"fence\":1}",
                NotObserved,
                0,
            ),
        ],
    );
}
