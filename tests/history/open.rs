//! What a history leaves open, as docs/history.md reads it: a case for each line of
//! its table.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotApplicable, NotObserved, Unknown, Violated};

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[test]
fn a_validity_that_is_not_stated_has_no_bound() {
    let hold = |value: &str| {
        leak(format!(
            "0 0 invoke acquire\n1 0 ok acquire{value}\n80 1 invoke acquire\n90 1 ok acquire"
        ))
    };
    all_as_known(
        "mutual-exclusion-validity",
        &[
            case("null", hold(" {\"validity_ms\":null}"), Violated, 1),
            case("left out", hold(" {\"fence\":1}"), Violated, 1),
            case("without any value", hold(""), Violated, 1),
            case(
                "stated, and over",
                hold(" {\"validity_ms\":50}"),
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn a_release_that_did_not_succeed_ends_the_hold_and_leaves_the_lock() {
    let release = |end: &str| {
        format!("0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 0 {end} release\n")
    };
    let other = "4 1 invoke acquire\n5 1 ok acquire\n";
    let key = r#"9 harness ok final-keys {"keys":[{"node":0,"key":"k","pttl_ms":-1,"owner":0}],"after_ms":0}"#;
    for end in ["fail", "info"] {
        for (oracle, rest, verdict) in [
            ("mutual-exclusion-belief", other, NotObserved),
            ("mutual-exclusion-validity", other, NotObserved),
            ("no-orphan", key, Unknown),
            ("deadlock-freedom", "9 harness fail final-acquire", Unknown),
        ] {
            let events = leak(format!("{}{rest}", release(end)));
            all_as_known(oracle, &[case(end, events, verdict, 0)]);
        }
    }
}

#[test]
fn a_take_of_unknown_outcome_counts_against_the_stock_and_not_against_the_count() {
    let setup = |coupons: u32| format!("0 harness info setup {{\"coupons\":{coupons}}}\n");
    let one = "1 0 invoke take\n2 0 ok take {\"read\":1,\"left\":0}\n";
    let info = "3 1 invoke take\n4 1 info take\n";
    let left = |count: i64| format!("9 harness ok final-coupons {{\"left\":{count}}}\n");
    let two = "1 0 invoke take\n2 0 ok take {\"read\":2,\"left\":1}\n";
    all_as_known(
        "coupons",
        &[
            case(
                "two takes of one coupon, perhaps, and none is left",
                leak(format!("{}{one}{info}{}", setup(1), left(0))),
                Unknown,
                0,
            ),
            case(
                "and one less than none is left",
                leak(format!("{}{one}{info}{}", setup(1), left(-1))),
                Unknown,
                0,
            ),
            case(
                "the stock has enough, and the count shows the one that is known",
                leak(format!("{}{two}{info}{}", setup(2), left(1))),
                NotObserved,
                0,
            ),
            case(
                "two takes of a stock of one, acknowledged",
                leak(format!(
                    "{}{one}3 1 invoke take\n4 1 ok take {{\"read\":2,\"left\":1}}\n{}",
                    setup(1),
                    left(-1)
                )),
                Violated,
                1,
            ),
            case(
                "all three beyond the stock",
                leak(format!(
                    "{}1 0 invoke take\n2 0 ok take {{\"read\":7,\"left\":6}}\n3 0 invoke take\n4 0 ok take {{\"read\":6,\"left\":5}}\n5 0 invoke take\n6 0 ok take {{\"read\":3,\"left\":2}}\n{}",
                    setup(2),
                    left(-1)
                )),
                Violated,
                3,
            ),
            case(
                "nobody counted at the end",
                leak(format!("{}{one}", setup(1))),
                Unknown,
                0,
            ),
            case(
                "the count failed",
                leak(format!("{}{one}9 harness fail final-coupons", setup(1))),
                Unknown,
                0,
            ),
            case(
                "the stock is not known",
                leak(format!("{one}{info}{}", left(7))),
                NotObserved,
                0,
            ),
            case(
                "taken while it was counted",
                leak(format!(
                    "{}1 harness invoke final-coupons\n2 0 invoke take\n3 0 ok take {{\"read\":1,\"left\":0}}\n4 harness ok final-coupons {{\"left\":1}}",
                    setup(1)
                )),
                Unknown,
                0,
            ),
            case(
                "acknowledged when the count began",
                leak(format!(
                    "{}2 0 invoke take\n3 0 ok take {{\"read\":1,\"left\":0}}\n3 harness ok final-coupons {{\"left\":1}}",
                    setup(1)
                )),
                Unknown,
                0,
            ),
        ],
    );
}

#[test]
fn a_write_of_unknown_outcome_was_accepted_in_one_reading() {
    let write = |time: u64, client: u32, read: u64, end: &str, fence: &str| {
        format!(
            "{time} {client} invoke write {{\"read\":{read},\"wrote\":{}{fence}}}\n{} {client} {end} write\n",
            read + 1,
            time + 1
        )
    };
    let value =
        |time: u64, value: u64| format!("{time} harness ok final-counter {{\"value\":{value}}}\n");
    let first = write(0, 0, 0, "ok", "");
    all_as_known(
        "mutual-exclusion-effect",
        &[
            case(
                "nobody read the counter at the end",
                leak(first.clone()),
                Unknown,
                0,
            ),
            case(
                "the read has an unknown outcome",
                leak(format!("{first}9 harness info final-counter")),
                Unknown,
                0,
            ),
            case(
                "the final value does not show it",
                leak(format!(
                    "{first}{}{}",
                    write(2, 1, 1, "info", ""),
                    value(9, 1)
                )),
                NotObserved,
                0,
            ),
            case(
                "acknowledged when the read began",
                leak(format!(
                    "{first}{}{}",
                    write(2, 1, 1, "ok", ""),
                    value(3, 1)
                )),
                Unknown,
                0,
            ),
            case(
                "acknowledged after the read, which shows the first one",
                leak(format!(
                    "{first}{}{}",
                    value(2, 1),
                    write(3, 1, 1, "ok", "")
                )),
                Unknown,
                0,
            ),
            case(
                "lost before the read, whatever came after it",
                leak(format!(
                    "{first}{}{}",
                    value(2, 0),
                    write(3, 1, 0, "info", "")
                )),
                Violated,
                1,
            ),
            case(
                "of several reads the last one counts",
                leak(format!("{first}{}{}", value(2, 0), value(3, 1))),
                NotObserved,
                0,
            ),
            case(
                "an older fence after a newer one that may have been accepted",
                leak(format!(
                    "{}{}",
                    write(0, 0, 0, "info", ",\"fence\":2"),
                    write(2, 1, 0, "ok", ",\"fence\":1")
                )),
                Unknown,
                0,
            ),
            case(
                "an older fence that was sent when the newer one was acknowledged",
                leak(format!(
                    "{}{}",
                    write(0, 0, 0, "ok", ",\"fence\":2"),
                    write(1, 1, 0, "ok", ",\"fence\":1")
                )),
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn an_add_that_ends_when_the_set_is_read_may_have_come_after_it() {
    let add = "0 0 invoke add {\"element\":1}\n5 0 ok add\n";
    all_as_known(
        "lost-updates",
        &[
            case(
                "at the beginning of the read",
                leak(format!("{add}5 harness ok final-set {{\"elements\":[]}}")),
                Unknown,
                0,
            ),
            case(
                "just before it",
                leak(format!("{add}5.1 harness ok final-set {{\"elements\":[]}}")),
                Violated,
                1,
            ),
            case(
                "and it is there",
                leak(format!("{add}5 harness ok final-set {{\"elements\":[1]}}")),
                NotObserved,
                0,
            ),
            case(
                "the read failed",
                leak(format!("{add}9 harness fail final-set")),
                Unknown,
                0,
            ),
            case(
                "an unknown add that nobody looked for",
                "0 0 invoke add {\"element\":1}\n5 0 info add",
                NotApplicable,
                0,
            ),
            case(
                "whole numbers are the same however they are written",
                leak(format!(
                    "{add}9 harness ok final-set {{\"elements\":[1.0]}}"
                )),
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn keys_that_look_alike_may_be_different_ones() {
    let keys = |one: &str, other: &str| {
        leak(format!(
            "0 0 invoke acquire {{\"key\":{one}}}\n1 0 ok acquire {{\"fence\":1}}\n2 1 invoke acquire {{\"key\":{other}}}\n3 1 ok acquire {{\"fence\":1}}\n4 0 invoke release\n5 0 ok release {{\"effect\":true}}"
        ))
    };
    let lost = "\"lock\u{fffd}\"";
    for (oracle, count) in [
        ("mutual-exclusion-belief", 1),
        ("fence-monotonicity", 1),
        ("honest-outcome", 1),
    ] {
        all_as_known(
            oracle,
            &[
                case("the same", keys("\"a\"", "\"a\""), Violated, count),
                case("bytes that no text holds", keys(lost, lost), Unknown, 0),
                case(
                    "none, and an empty name",
                    keys("null", "\"\""),
                    NotObserved,
                    0,
                ),
                case("none, twice", keys("null", "null"), Violated, count),
                case(
                    "the same letter, composed in two ways",
                    keys("\"\u{e9}\"", "\"e\u{301}\""),
                    NotObserved,
                    0,
                ),
            ],
        );
    }
    all_as_known(
        "owner-only-release",
        &[
            case(
                "an entry whose name no text holds",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k\u{fffd} 1\n2 c0 ok 1 1\n3 0 ok acquire\n4 c1 send 2 DEL k\u{fffd}\n5 c1 ok 2 1",
                Unknown,
                0,
            ),
            case(
                "an entry that the client itself may have made",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k\u{fffd} 1\n2 c0 ok 1 1\n3 0 ok acquire\n4 c1 send 2 SETNX k\u{fffd} 1\n5 c1 ok 2 1\n6 c1 send 3 DEL k\u{fffd}\n7 c1 ok 3 1",
                NotObserved,
                0,
            ),
        ],
    );
    let left = "9 harness ok final-keys {\"keys\":[{\"node\":0,\"key\":\"lock\u{fffd}\",\"pttl_ms\":-1,\"owner\":0}],\"after_ms\":0}";
    let held = format!("0 0 invoke acquire {{\"key\":{lost}}}\n1 0 ok acquire\n{left}");
    all_as_known(
        "no-orphan",
        &[case("it may hold another", leak(held), Unknown, 0)],
    );
    let winners = r#""params":{"winners":2}"#;
    let draw = |names: &str| {
        leak(format!(
            "0 0 invoke draw {{\"round\":1}}\n1 0 ok draw {{\"winners\":[{names}]}}"
        ))
    };
    all_as_known(
        "lottery",
        &[
            with(
                winners,
                case("one wins twice", draw("\"a\",\"a\""), Violated, 1),
            ),
            with(
                winners,
                case(
                    "one may win twice",
                    draw("\"\u{fffd}\",\"\u{fffd}\""),
                    Unknown,
                    0,
                ),
            ),
            with(
                winners,
                case("too many", draw("\"\u{fffd}\",\"\u{fffd}\",1"), Violated, 1),
            ),
        ],
    );
}

#[test]
fn a_release_of_no_key_is_of_the_clients_last_acquire_and_of_no_other() {
    // Client 1 never acquired: its release is of the key without a name.
    let text = "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire\n2 1 invoke release\n3 1 ok release\n4 2 invoke acquire {\"key\":\"a\"}\n5 2 ok acquire";
    all_as_known(
        "mutual-exclusion-belief",
        &[case("it ends nothing", text, Violated, 1)],
    );
    let wakes =
        "0 0 invoke acquire {\"key\":\"a\"}\n1 2 invoke release\n2 2 ok release\n9 0 ok acquire";
    let judgement = judged(&history("", wakes));
    assert_eq!(
        finding(&judgement, "wake-up").checked,
        0,
        "and wakes nobody"
    );
}

#[test]
fn a_death_comes_after_what_its_client_says_at_that_time() {
    all_as_known(
        "mutual-exclusion-belief",
        &[
            case(
                "it got the lock, and died at once",
                "0 0 invoke acquire\n1 1 invoke acquire\n2 1 ok acquire\n3 1 invoke release\n4 nemesis info crash {\"client\":0}\n4 0 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "it died inside of an operation, and was started again",
                "0 0 invoke acquire\n4 nemesis info crash {\"client\":0}\n4 0 invoke acquire\n5 0 ok acquire\n6 1 invoke acquire\n7 1 ok acquire",
                Violated,
                1,
            ),
        ],
    );
    let late = "0 0 invoke acquire\n4 nemesis info crash {\"client\":0}\n5 0 ok acquire";
    assert_eq!(judged(&history("", late)).warnings.len(), 1);
}
