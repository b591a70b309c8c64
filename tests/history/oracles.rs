//! Hand-made histories with known answers, a table for each oracle.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotApplicable, NotObserved, Unknown, Violated};
use lockproof_history::ORACLES;

#[test]
fn mutual_exclusion_by_belief() {
    all_as_known(
        "mutual-exclusion-belief",
        &[
            case("nobody did anything", "", NotApplicable, 0),
            case(
                "one after the other",
                "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 1 invoke acquire\n4 0 ok release\n5 1 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "the second succeeds while the first holds",
                "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n4 0 invoke release",
                Violated,
                1,
            ),
            case(
                "belief ends with the release's call, not with its end",
                "0 0 invoke acquire\n1 0 ok acquire\n1 1 invoke acquire\n2 0 invoke release\n3 1 ok acquire\n4 0 ok release",
                NotObserved,
                0,
            ),
            case(
                "a touch is no overlap, whichever line stands first",
                "0 0 invoke acquire\n1 0 ok acquire\n1 1 invoke acquire\n2 1 ok acquire\n2 0 invoke release",
                NotObserved,
                0,
            ),
            case(
                "validity does not end belief",
                "0 0 invoke acquire\n1 0 ok acquire {\"validity_ms\":5}\n9 1 invoke acquire\n10 1 ok acquire",
                Violated,
                1,
            ),
            case(
                "who was told that the lock is lost does not hold",
                "0 0 invoke acquire\n1 0 ok acquire\n2 0 info lost\n3 1 invoke acquire\n4 1 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "the dead do not hold",
                "0 0 invoke acquire\n1 0 ok acquire\n2 nemesis info crash {\"client\":0}\n3 1 invoke acquire\n4 1 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "an acquire of unknown outcome may hold from its call on",
                "0 0 invoke acquire\n1 1 invoke acquire\n2 1 ok acquire\n3 1 invoke release\n4 0 info acquire",
                Unknown,
                0,
            ),
            case(
                "an acquire of unknown outcome may hold until its client asks again",
                "0 0 invoke acquire\n1 0 info acquire\n2 0 invoke acquire\n3 1 invoke acquire\n4 0 fail acquire\n5 1 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "an acquire of unknown outcome may hold long after it",
                "0 0 invoke acquire\n1 0 info acquire\n9 1 invoke acquire\n10 1 ok acquire\n11 1 invoke release",
                Unknown,
                0,
            ),
            case(
                "an acquire without an end may hold",
                "0 0 invoke acquire\n1 1 invoke acquire\n2 1 ok acquire\n3 1 invoke release\n4 1 ok release",
                Unknown,
                0,
            ),
            case(
                "an acquire that is cut off by a crash may have held before it",
                "0 0 invoke acquire\n1 1 invoke acquire\n2 1 ok acquire\n3 nemesis info crash {\"client\":0}",
                Unknown,
                0,
            ),
            case(
                "an acquire that is cut off by a crash holds no longer",
                "0 0 invoke acquire\n1 nemesis info crash {\"client\":0}\n2 1 invoke acquire\n3 1 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "a sure violation is not hidden by an unknown one",
                "0 2 invoke acquire\n0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n4 2 info acquire",
                Violated,
                1,
            ),
            case(
                "two keys are two locks",
                "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire\n2 1 invoke acquire {\"key\":\"b\"}\n3 1 ok acquire",
                NotObserved,
                0,
            ),
            with(
                r#""reentrant":true"#,
                case(
                    "a nested hold ends with the last release",
                    "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 ok acquire\n4 0 invoke release\n5 0 ok release\n6 1 invoke acquire\n7 1 ok acquire\n8 0 invoke release",
                    Violated,
                    1,
                ),
            ),
            with(
                r#""reentrant":true"#,
                case(
                    "a nested acquire of unknown outcome may need one more release",
                    "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke acquire\n3 0 info acquire\n4 0 invoke release\n5 0 ok release\n6 1 invoke acquire\n7 1 ok acquire",
                    Unknown,
                    0,
                ),
            ),
        ],
    );
}

#[test]
fn mutual_exclusion_by_validity() {
    let surely = "0 0 invoke acquire\n2 0 ok acquire {\"validity_ms\":10}\n3 1 invoke acquire\n9 1 ok acquire {\"validity_ms\":10}";
    let perhaps = "0 0 invoke acquire\n2 0 ok acquire {\"validity_ms\":10}\n3 1 invoke acquire\n11 1 ok acquire {\"validity_ms\":10}";
    let over = "0 0 invoke acquire\n2 0 ok acquire {\"validity_ms\":10}\n3 1 invoke acquire\n12 1 ok acquire {\"validity_ms\":10}";
    let unstated = "0 0 invoke acquire\n2 0 ok acquire\n90 1 invoke acquire\n99 1 ok acquire {\"validity_ms\":10}";
    let late = "0 0 invoke acquire\n1 0 ok acquire {\"validity_ms\":99}\n2 1 invoke acquire\n8 1 ok acquire {\"validity_ms\":5}";
    all_as_known(
        "mutual-exclusion-validity",
        &[
            case("before call + validity it is sure", surely, Violated, 1),
            case("before success + validity it may be", perhaps, Unknown, 0),
            case("after that it is over", over, NotObserved, 0),
            case(
                "without a stated validity it is belief",
                unstated,
                Violated,
                1,
            ),
            case(
                "a success that came too late is surely valid never",
                late,
                Unknown,
                0,
            ),
        ],
    );
}

#[test]
fn no_orphan() {
    let key = |client: &str, pttl: &str, after: &str| {
        format!(
            "9 harness ok final-keys {{\"keys\":[{{\"node\":0,\"key\":\"k\",\"pttl_ms\":{pttl},\"owner\":{client}}}],\"after_ms\":{after}}}"
        )
    };
    let leak = |text: String| Box::leak(text.into_boxed_str()) as &'static str;
    let held = "0 0 invoke acquire\n1 0 ok acquire\n";
    let released = "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 0 ok release\n";
    let dead = "0 0 invoke acquire\n1 nemesis info crash {\"client\":0}\n";
    all_as_known(
        "no-orphan",
        &[
            case("nobody looked", held, NotApplicable, 0),
            case(
                "nothing is left",
                "9 harness ok final-keys {\"keys\":[],\"after_ms\":0}",
                NotObserved,
                0,
            ),
            case(
                "it still holds",
                leak(format!("{held}{}", key("0", "-1", "0"))),
                NotObserved,
                0,
            ),
            case(
                "a dead client's, for ever",
                leak(format!("{dead}{}", key("0", "-1", "0"))),
                Violated,
                1,
            ),
            case(
                "a dead client's, for a while",
                leak(format!("{dead}{}", key("0", "50", "0"))),
                NotObserved,
                0,
            ),
            case(
                "a dead client's, after a lease",
                leak(format!("{dead}{}", key("0", "50", "100"))),
                Violated,
                1,
            ),
            case(
                "released, for ever",
                leak(format!("{released}{}", key("0", "-1", "0"))),
                Violated,
                1,
            ),
            case(
                "nobody's, and nobody holds",
                leak(format!("{released}{}", key("null", "-1", "0"))),
                Violated,
                1,
            ),
            case(
                "nobody's, and somebody holds",
                leak(format!("{held}{}", key("null", "-1", "0"))),
                Unknown,
                0,
            ),
            case(
                "its release has an unknown outcome",
                leak(format!(
                    "{held}2 0 invoke release\n3 0 info release\n{}",
                    key("0", "-1", "0")
                )),
                Unknown,
                0,
            ),
        ],
    );
}

#[test]
fn deadlock_freedom() {
    all_as_known(
        "deadlock-freedom",
        &[
            case("nobody tried", "", NotApplicable, 0),
            case("acquired", "9 harness ok final-acquire", NotObserved, 0),
            case("nobody can", "9 harness fail final-acquire", Violated, 1),
            case("nobody knows", "9 harness info final-acquire", Unknown, 0),
            case(
                "a client still holds",
                "0 0 invoke acquire\n1 0 ok acquire\n9 harness fail final-acquire",
                Unknown,
                0,
            ),
        ],
    );
}

#[test]
fn fence_monotonicity() {
    all_as_known(
        "fence-monotonicity",
        &[
            case(
                "no fences",
                "0 0 invoke acquire\n1 0 ok acquire",
                NotApplicable,
                0,
            ),
            case(
                "growing",
                "0 0 invoke acquire\n1 0 ok acquire {\"fence\":1}\n2 1 invoke acquire\n3 1 ok acquire {\"fence\":2}",
                NotObserved,
                0,
            ),
            case(
                "falling",
                "0 0 invoke acquire\n1 0 ok acquire {\"fence\":2}\n2 1 invoke acquire\n3 1 ok acquire {\"fence\":1}",
                Violated,
                1,
            ),
            case(
                "falling, but they overlap",
                "0 0 invoke acquire\n0 1 invoke acquire\n1 0 ok acquire {\"fence\":2}\n3 1 ok acquire {\"fence\":1}",
                NotObserved,
                0,
            ),
            case(
                "one fence for two, though they overlap",
                "0 0 invoke acquire\n0 1 invoke acquire\n1 0 ok acquire {\"fence\":2}\n3 1 ok acquire {\"fence\":2}",
                Violated,
                1,
            ),
            case(
                "the same owner again",
                "0 0 invoke acquire\n1 0 ok acquire {\"fence\":2}\n2 0 invoke acquire\n3 0 ok acquire {\"fence\":2}",
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn honest_outcome() {
    let taken = "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire\n4 0 invoke release\n";
    let leak = |text: String| Box::leak(text.into_boxed_str()) as &'static str;
    let boasts = leak(format!("{taken}5 0 ok release {{\"effect\":true}}"));
    let early = "0 1 invoke acquire\n0 0 invoke acquire\n1 0 ok acquire\n3 1 ok acquire\n4 0 invoke release\n5 0 ok release {\"effect\":true}";
    all_as_known(
        "honest-outcome",
        &[
            case(
                "it released what it held",
                "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 0 ok release {\"effect\":true}",
                NotObserved,
                0,
            ),
            case("another had got it in the meantime", boasts, Violated, 1),
            with(
                r#""nodes":5"#,
                case("with five servers nobody knows", boasts, Unknown, 0),
            ),
            case(
                "after a failover nobody knows",
                leak(format!(
                    "0 nemesis info failover {{\"phase\":\"start\",\"fault\":\"failover\"}}\n{boasts}"
                )),
                Unknown,
                0,
            ),
            case(
                "the other's acquire may have been before",
                early,
                NotObserved,
                0,
            ),
            case(
                "it says that it had no effect",
                leak(format!("{taken}5 0 ok release {{\"effect\":false}}")),
                NotApplicable,
                0,
            ),
        ],
    );
}

#[test]
fn wake_up_is_measured_for_those_who_waited() {
    let judgement = judged(&history(
        "",
        "0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 0 invoke release\n4 0 ok release\n10 1 ok acquire\n\
         11 1 invoke release\n12 1 ok release\n13 2 invoke acquire\n14 2 ok acquire",
    ));
    let found = finding(&judgement, "wake-up");
    assert_eq!((found.verdict, found.checked), (NotApplicable, 1));
    assert_eq!(found.figures["max_ms"], 6.0);
    let median = found.figures["median_ms"];
    assert!((5.9..=6.0).contains(&median), "{median}");
}

#[test]
fn every_oracle_answers_in_the_published_order() {
    let judgement = judged(&history("", ""));
    let names: Vec<&str> = judgement
        .findings
        .iter()
        .map(|one| one.oracle.as_str())
        .collect();
    assert_eq!(names, ORACLES);
    assert_eq!(judgement.verdict(), NotApplicable);
}

#[test]
fn examples_are_bounded_and_all_are_counted() {
    let mut events = String::new();
    for client in 0..50 {
        events += &format!("{client} {client} invoke acquire\n{client} {client} ok acquire\n");
    }
    let judgement = judged(&history("", &events));
    let found = finding(&judgement, "mutual-exclusion-belief");
    assert_eq!((found.violations, found.examples.len()), (49, 10));
    assert_eq!(found.examples[0].lines, [5, 3]);
}
