//! Hand-made histories with known answers for the oracles of what was done under
//! the lock.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotApplicable, NotObserved, Unknown, Violated};

#[test]
fn mutual_exclusion_by_effect() {
    all_as_known(
        "mutual-exclusion-effect",
        &[
            case(
                "each write adds one",
                "0 0 invoke write {\"read\":0,\"wrote\":1}\n1 0 ok write\n2 1 invoke write {\"read\":1,\"wrote\":2}\n3 1 ok write\n4 harness ok final-counter {\"value\":2}",
                NotObserved,
                0,
            ),
            case(
                "two updates of one value",
                "0 0 invoke write {\"read\":0,\"wrote\":1}\n1 0 ok write\n2 1 invoke write {\"read\":0,\"wrote\":1}\n3 1 ok write",
                Violated,
                1,
            ),
            case(
                "the counter fell short",
                "0 0 invoke write {\"read\":0,\"wrote\":1}\n1 0 ok write\n2 1 invoke write {\"read\":1,\"wrote\":2}\n3 1 ok write\n4 harness ok final-counter {\"value\":1}",
                Violated,
                1,
            ),
            case(
                "one lost update is told once, though two things show it",
                "0 0 invoke write {\"read\":0,\"wrote\":1}\n1 0 ok write\n2 1 invoke write {\"read\":0,\"wrote\":1}\n3 1 ok write\n4 harness ok final-counter {\"value\":1}",
                Violated,
                1,
            ),
            case(
                "the counter's start counts",
                "0 harness info setup {\"counter\":5}\n1 0 invoke write {\"read\":5,\"wrote\":6}\n2 0 ok write\n4 harness ok final-counter {\"value\":6}",
                NotObserved,
                0,
            ),
            case(
                "an unknown write of the same value may be lost",
                "0 0 invoke write {\"read\":0,\"wrote\":1}\n1 0 info write\n2 1 invoke write {\"read\":0,\"wrote\":1}\n3 1 ok write",
                Unknown,
                0,
            ),
            case(
                "an older fence after a newer one",
                "0 0 invoke write {\"read\":0,\"wrote\":1,\"fence\":2}\n1 0 ok write\n2 1 invoke write {\"read\":0,\"wrote\":1,\"fence\":1}\n3 1 ok write",
                Violated,
                1,
            ),
            case(
                "an older fence that was refused",
                "0 0 invoke write {\"read\":0,\"wrote\":1,\"fence\":2}\n1 0 ok write\n2 1 invoke write {\"read\":0,\"wrote\":1,\"fence\":1}\n3 1 fail write",
                NotObserved,
                0,
            ),
            case(
                "an older fence that overlaps may have been first",
                "0 1 invoke write {\"read\":0,\"wrote\":1,\"fence\":1}\n1 0 invoke write {\"read\":0,\"wrote\":1,\"fence\":2}\n2 0 ok write\n3 1 ok write",
                NotObserved,
                0,
            ),
            case(
                "an older fence of unknown outcome",
                "0 0 invoke write {\"read\":0,\"wrote\":1,\"fence\":2}\n1 0 ok write\n2 1 invoke write {\"read\":0,\"wrote\":1,\"fence\":1}\n3 1 info write",
                Unknown,
                0,
            ),
        ],
    );
}

#[test]
fn coupons() {
    let take = |read: i64| format!("{{\"read\":{read},\"left\":{}}}", read - 1);
    assert_eq!(take(2), r#"{"read":2,"left":1}"#);
    let setup = "0 harness info setup {\"coupons\":1}\n";
    let sell = |rest: &str| Box::leak(format!("{setup}{rest}").into_boxed_str()) as &'static str;
    let one = "1 0 invoke take\n2 0 ok take {\"read\":1,\"left\":0}\n";
    let none_left = "\n9 harness ok final-coupons {\"left\":0}";
    all_as_known(
        "coupons",
        &[
            case("no takes", sell(""), NotApplicable, 0),
            case(
                "the only coupon",
                sell(&format!("{one}{none_left}")),
                NotObserved,
                0,
            ),
            case(
                "the only coupon, twice",
                sell(&format!(
                    "{one}3 1 invoke take\n4 1 ok take {{\"read\":1,\"left\":0}}"
                )),
                Violated,
                1,
            ),
            case(
                "a coupon that is not there",
                sell(&format!(
                    "{one}3 1 invoke take\n4 1 ok take {{\"read\":0,\"left\":-1}}"
                )),
                Violated,
                1,
            ),
            case(
                "sold out is no take",
                sell(&format!("{one}3 1 invoke take\n4 1 fail take{none_left}")),
                NotObserved,
                0,
            ),
            case(
                "nobody knows about the second",
                sell(&format!("{one}3 1 invoke take\n4 1 info take")),
                Unknown,
                0,
            ),
            case(
                "what is left shows a lost take",
                "0 harness info setup {\"coupons\":9}\n1 0 invoke take\n2 0 ok take {\"read\":9,\"left\":8}\n3 1 invoke take\n4 1 ok take {\"read\":8,\"left\":7}\n5 harness ok final-coupons {\"left\":8}",
                Violated,
                1,
            ),
        ],
    );
}

#[test]
fn lottery() {
    let ten = "{\"round\":1,\"winners\":[1,2,3,4,5,6,7,8,9,10]}";
    let first = format!("0 0 invoke draw {{\"round\":1}}\n1 0 ok draw {ten}\n");
    let more = |rest: &str| Box::leak(format!("{first}{rest}").into_boxed_str()) as &'static str;
    all_as_known(
        "lottery",
        &[
            case("one draw", more(""), NotObserved, 0),
            case(
                "the second finds it drawn",
                more("2 1 invoke draw {\"round\":1}\n3 1 fail draw"),
                NotObserved,
                0,
            ),
            case(
                "two draws",
                more(&format!(
                    "2 1 invoke draw {{\"round\":1}}\n3 1 ok draw {ten}"
                )),
                Violated,
                1,
            ),
            case(
                "perhaps two draws",
                more("2 1 invoke draw {\"round\":1}\n3 1 info draw"),
                Unknown,
                0,
            ),
            case(
                "nine winners",
                "0 0 invoke draw {\"round\":1}\n1 0 ok draw {\"winners\":[1,2,3,4,5,6,7,8,9]}",
                Violated,
                1,
            ),
            case(
                "one of ten wins twice",
                "0 0 invoke draw {\"round\":1}\n1 0 ok draw {\"winners\":[1,1,3,4,5,6,7,8,9,10]}",
                Violated,
                1,
            ),
            with(
                r#""params":{"winners":2}"#,
                case(
                    "another number of winners",
                    "0 0 invoke draw {\"round\":1}\n1 0 ok draw {\"winners\":[\"a\",\"b\"]}",
                    NotObserved,
                    0,
                ),
            ),
        ],
    );
}

#[test]
fn lost_updates() {
    all_as_known(
        "lost-updates",
        &[
            case(
                "all there",
                "0 0 invoke add {\"element\":1}\n1 0 ok add\n2 harness ok final-set {\"elements\":[1]}",
                NotObserved,
                0,
            ),
            case(
                "one of two is missing",
                "0 0 invoke add {\"element\":1}\n1 0 ok add\n2 1 invoke add {\"element\":\"b\"}\n3 1 ok add\n4 harness ok final-set {\"elements\":[\"b\"]}",
                Violated,
                1,
            ),
            case(
                "nobody reads the set",
                "0 0 invoke add {\"element\":1}\n1 0 ok add",
                Unknown,
                0,
            ),
            case(
                "an unknown add is not lost",
                "0 0 invoke add {\"element\":1}\n1 0 info add\n0 1 invoke add {\"element\":2}\n1 1 ok add\n2 harness ok final-set {\"elements\":[2]}",
                NotObserved,
                0,
            ),
            case(
                "an add that overlaps the final read may be missing",
                "0 0 invoke add {\"element\":1}\n1 harness invoke final-set\n2 0 ok add\n3 harness ok final-set {\"elements\":[]}",
                Unknown,
                0,
            ),
        ],
    );
    let found = judged(&history(
        "",
        "0 0 invoke add {\"element\":1}\n1 0 info add\n2 1 invoke add {\"element\":2}\n3 1 ok add\n4 2 invoke add {\"element\":3}\n5 2 ok add\n6 harness ok final-set {\"elements\":[1,3]}",
    ));
    let figures = &finding(&found, "lost-updates").figures;
    assert_eq!((figures["lost"], figures["lost_rate"]), (1.0, 0.5));
    assert_eq!((figures["recovered"], figures["acknowledged"]), (1.0, 2.0));
}
