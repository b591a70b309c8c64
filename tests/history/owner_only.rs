//! Owner-only release: hand-made histories with known answers, and generated ones
//! that are judged by a slow checker too.
//!
//! An event is `TIME_MS PROCESS TYPE F [VALUE]`.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotApplicable, NotObserved, Unknown, Violated};
use proptest::prelude::*;

#[test]
fn what_a_watcher_of_the_server_saw() {
    let set = "0 0 invoke acquire\n1 node-0 info execute {\"client\":0,\"argv\":[\"SETNX\",\"k\",\"1\"],\"reply\":1}\n2 0 ok acquire\n";
    let after = |rest: &str| Box::leak(format!("{set}{rest}").into_boxed_str()) as &'static str;
    let del = "5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"k\"],\"reply\":1}";
    all_as_known(
        "owner-only-release",
        &[
            case(
                "nobody looked",
                "0 0 invoke acquire\n1 0 ok acquire",
                NotApplicable,
                0,
            ),
            case(
                "its own entry",
                after(
                    "3 0 invoke release\n4 node-0 info execute {\"client\":0,\"argv\":[\"DEL\",\"k\"],\"reply\":1}",
                ),
                NotObserved,
                0,
            ),
            case("another's entry", after(del), Violated, 1),
            case(
                "another's entry, in the words of traces",
                after(
                    "5 node-0 info execute {\"client\":1,\"argv\":[\"del\",\"k\"],\"reply\":{\"int\":1}}",
                ),
                Violated,
                1,
            ),
            case(
                "nothing was there",
                after("5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"k\"],\"reply\":0}"),
                NotApplicable,
                0,
            ),
            case(
                "another key",
                after("5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"j\"],\"reply\":1}"),
                NotObserved,
                0,
            ),
            case(
                "the owner is dead",
                after(&format!("3 nemesis info crash {{\"client\":0}}\n{del}")),
                NotObserved,
                0,
            ),
            case(
                "the owner is releasing",
                after(&format!("3 0 invoke release\n{del}")),
                NotObserved,
                0,
            ),
            case(
                "another's expiry",
                after(
                    "5 node-0 info execute {\"client\":1,\"argv\":[\"PEXPIRE\",\"k\",\"9\"],\"reply\":1}",
                ),
                Violated,
                1,
            ),
            case(
                "a releasing script that answers 1",
                after(
                    "4 1 invoke release\n5 node-0 info execute {\"client\":1,\"argv\":[\"EVAL\",\"..\",\"1\",\"k\"],\"reply\":1}",
                ),
                Violated,
                1,
            ),
            case(
                "a releasing script that answers 0",
                after(
                    "4 1 invoke release\n5 node-0 info execute {\"client\":1,\"argv\":[\"EVAL\",\"..\",\"1\",\"k\"],\"reply\":0}",
                ),
                NotApplicable,
                0,
            ),
            case(
                "an entry that a script made, after its acquire",
                "0 0 invoke acquire\n1 node-0 info execute {\"client\":0,\"argv\":[\"EVAL\",\"..\",\"1\",\"k\"],\"reply\":null}\n2 0 ok acquire\n5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"k\"],\"reply\":1}",
                Violated,
                1,
            ),
            case(
                "an entry whose owner is still acquiring",
                "0 0 invoke acquire\n1 node-0 info execute {\"client\":0,\"argv\":[\"SET\",\"k\",\"t\",\"NX\"],\"reply\":\"OK\"}\n5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"k\"],\"reply\":1}",
                Unknown,
                0,
            ),
            case(
                "an owner past its validity",
                "0 0 invoke acquire\n1 node-0 info execute {\"client\":0,\"argv\":[\"SET\",\"k\",\"t\",\"NX\"],\"reply\":\"OK\"}\n2 0 ok acquire {\"validity_ms\":2}\n5 node-0 info execute {\"client\":1,\"argv\":[\"DEL\",\"k\"],\"reply\":1}",
                Unknown,
                0,
            ),
        ],
    );
}

/// Client 0 holds from 3 on.
const HELD: &str = "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n3 0 ok acquire\n";

fn held(rest: &str) -> &'static str {
    Box::leak(format!("{HELD}{rest}").into_boxed_str())
}

#[test]
fn the_order_of_what_overlaps_is_chosen_in_the_locks_favour() {
    all_as_known(
        "owner-only-release",
        &[
            case(
                "a blind DEL of a lock that another surely holds",
                held("4 c1 send 2 DEL k\n5 c1 ok 2 1"),
                Violated,
                1,
            ),
            case(
                "and of its expiry, by a thread in the background",
                held("4 c1 send 2 PEXPIRE k 9\n5 c1 ok 2 1"),
                Violated,
                1,
            ),
            case(
                "a release whose reply the next owner's overtakes",
                "0 1 invoke acquire\n1 c1 send 1 SETNX k 1\n2 c1 ok 1 1\n3 1 ok acquire\n4 1 invoke release\n5 c1 send 2 DEL k\n6 0 invoke acquire\n7 c0 send 3 SETNX k 1\n8 c0 ok 3 1\n9 0 ok acquire\n10 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "the same, sent after the next owner had its reply",
                "0 1 invoke acquire\n1 c1 send 1 SETNX k 1\n2 c1 ok 1 1\n3 1 ok acquire\n6 0 invoke acquire\n7 c0 send 3 SETNX k 1\n8 c0 ok 3 1\n9 0 ok acquire\n10 1 invoke release\n11 c1 send 2 DEL k\n12 c1 ok 2 1",
                Violated,
                1,
            ),
            case(
                "its own claim overlaps the next owner's",
                "0 1 invoke acquire\n1 c1 send 1 SETNX k 1\n1 0 invoke acquire\n2 c0 send 3 SETNX k 1\n3 c0 ok 3 1\n4 0 ok acquire\n5 c1 ok 1 1\n6 1 ok acquire\n7 1 invoke release\n8 c1 send 2 DEL k\n9 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "a touch may be either order",
                "0 1 invoke acquire\n1 c1 send 1 SETNX k 1\n2 c0 send 3 SETNX k 1\n2 c1 ok 1 1\n3 c0 ok 3 1\n8 c1 send 2 DEL k\n9 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "also where the next owner's claim touches the removal",
                "0 1 invoke acquire\n1 c1 send 1 SETNX k 1\n2 c1 ok 1 1\n2 1 ok acquire\n3 0 invoke acquire\n3 c0 send 3 SETNX k 1\n5 c0 ok 3 1\n5 0 ok acquire\n5 1 invoke release\n5 c1 send 2 DEL k\n9 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "its owner releases while it goes on",
                held("4 c1 send 2 DEL k\n5 0 invoke release\n6 c1 ok 2 1"),
                NotObserved,
                0,
            ),
            case(
                "its owner releases as it ends",
                held("4 c1 send 2 DEL k\n6 c1 ok 2 1\n6 0 invoke release"),
                NotObserved,
                0,
            ),
            case(
                "its owner releases after it",
                held("4 c1 send 2 DEL k\n6 c1 ok 2 1\n7 0 invoke release"),
                Violated,
                1,
            ),
            case(
                "its owner had its reply only while it went on",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n3 c1 send 2 DEL k\n4 0 ok acquire\n5 c1 ok 2 1",
                NotObserved,
                0,
            ),
            case(
                "a third client's claim overlaps it, which owns nothing yet",
                held(
                    "4 2 invoke acquire\n4 c1 send 2 DEL k\n5 c2 send 3 SETNX k 1\n6 c1 ok 2 1\n7 c2 ok 3 1\n8 2 ok acquire",
                ),
                NotObserved,
                0,
            ),
            case(
                "the third client's claim turns out to be none",
                held(
                    "4 2 invoke acquire\n4 c1 send 2 DEL k\n5 c2 send 3 SETNX k 1\n6 c1 ok 2 1\n7 c2 ok 3 0",
                ),
                Violated,
                1,
            ),
            case(
                "the third client's claim was never executed",
                held(
                    "4 2 invoke acquire\n4 c1 send 2 DEL k\n5 c2 send 3 SETNX k 1\n6 c1 ok 2 1\n7 c2 fail 3",
                ),
                Violated,
                1,
            ),
        ],
    );
}

#[test]
fn what_nobody_knows_is_not_held_against_anybody() {
    all_as_known(
        "owner-only-release",
        &[
            case(
                "a removal of unknown outcome",
                held("4 c1 send 2 DEL k\n5 c1 info 2"),
                NotApplicable,
                0,
            ),
            case(
                "a removal whose reply came late",
                held("4 c1 send 2 DEL k\n5 c1 info 2\n6 c1 ok 2 1"),
                NotApplicable,
                0,
            ),
            case(
                "a removal without an end",
                held("4 c1 send 2 DEL k"),
                NotApplicable,
                0,
            ),
            case(
                "its own claim of unknown outcome may come at any time",
                "0 c1 send 2 SETNX k 1\n0.5 c1 info 2\n1 0 invoke acquire\n2 c0 send 1 SETNX k 1\n3 c0 ok 1 1\n4 0 ok acquire\n5 c1 send 3 DEL k\n6 c1 ok 3 1",
                NotObserved,
                0,
            ),
            case(
                "until its late reply says that it was earlier",
                "0 c1 send 2 SETNX k 1\n0.5 c1 info 2\n0.8 c1 ok 2 1\n1 0 invoke acquire\n2 c0 send 1 SETNX k 1\n3 c0 ok 1 1\n4 0 ok acquire\n5 c1 send 3 DEL k\n6 c1 ok 3 1",
                Violated,
                1,
            ),
            case(
                "or that it was none",
                "0 c1 send 2 SETNX k 1\n0.5 c1 info 2\n1 0 invoke acquire\n2 c0 send 1 SETNX k 1\n3 c0 ok 1 1\n4 0 ok acquire\n4.5 c1 ok 2 0\n5 c1 send 3 DEL k\n6 c1 ok 3 1",
                Violated,
                1,
            ),
            case(
                "a dead client's claim may still come",
                held(
                    "4 2 invoke acquire\n5 c2 send 2 SETNX k 1\n6 nemesis info crash {\"client\":2}\n7 c1 send 3 DEL k\n8 c1 ok 3 1",
                ),
                Unknown,
                0,
            ),
            case(
                "the owner's acquire ended unknown",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n4 c1 send 2 DEL k\n5 c1 ok 2 1\n6 0 info acquire",
                Unknown,
                0,
            ),
            case(
                "the owner's acquire ended well, after the removal",
                "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n4 c1 send 2 DEL k\n5 c1 ok 2 1\n6 0 ok acquire",
                NotObserved,
                0,
            ),
            case(
                "a command that nobody here knows may have made the entry its own",
                held("4 c1 send 2 RESTORE k 0 x\n5 c1 ok 2 \"OK\"\n6 c1 send 3 DEL k\n7 c1 ok 3 1"),
                NotObserved,
                0,
            ),
        ],
    );
}

#[test]
fn scripts_claim_what_their_acquire_says() {
    let waits = "0 0 invoke acquire\n1 c0 send 1 EVAL s 1 k\n2 c0 ok 1 0\n8 c0 send 2 EVAL s 1 k\n9 c0 ok 2 1\n10 0 ok acquire\n";
    let waited = |rest: &str| -> &'static str { Box::leak(format!("{waits}{rest}").into()) };
    all_as_known(
        "owner-only-release",
        &[
            case(
                "a blind DEL of an entry that a script made",
                waited("11 c1 send 3 DEL k\n12 c1 ok 3 1"),
                Violated,
                1,
            ),
            case(
                "one of its attempts made it, and nobody says which",
                "0 0 invoke acquire\n1 c0 send 1 EVAL s 1 k\n2 c0 ok 1 0\n3 c1 send 4 SETNX k 1\n4 c1 ok 4 1\n8 c0 send 2 EVAL s 1 k\n9 c0 ok 2 1\n10 0 ok acquire\n11 c1 send 3 DEL k\n12 c1 ok 3 1",
                NotObserved,
                0,
            ),
            case(
                "who fails owns nothing",
                held(
                    "4 2 invoke acquire\n5 c2 send 2 EVAL s 1 k\n6 c2 ok 2 0\n7 c1 send 3 DEL k\n8 c1 ok 3 1\n9 2 fail acquire",
                ),
                Violated,
                1,
            ),
            case(
                "and is not blamed for what it left behind",
                held(
                    "4 1 invoke acquire\n5 c1 send 2 EVAL s 1 k\n6 c1 ok 2 0\n7 1 fail acquire\n8 c1 send 3 DEL k\n9 c1 ok 3 1",
                ),
                NotObserved,
                0,
            ),
            with(
                r#""nodes":3"#,
                case(
                    "of several servers it is not said which ones it got",
                    waited("11 c1 send 3 DEL k\n12 c1 ok 3 1"),
                    Unknown,
                    0,
                ),
            ),
            case(
                "a renewal in the background, and its own release",
                held(
                    "4 c0 send 2 EVAL s 1 k\n5 c0 ok 2 1\n6 0 invoke release\n7 c0 send 3 EVAL s 1 k\n8 c0 ok 3 1",
                ),
                NotObserved,
                0,
            ),
            case(
                "a renewal in the background does not protect from others",
                held("4 c0 send 2 EVAL s 1 k\n5 c0 ok 2 1\n6 c1 send 3 DEL k\n7 c1 ok 3 1"),
                Violated,
                1,
            ),
        ],
    );
}

#[test]
fn a_server_that_comes_back_may_hold_what_it_held() {
    let fault = |phase: &str, at: f64, name: &str| {
        format!("{at} nemesis info {name} {{\"phase\":\"{phase}\",\"fault\":\"{name}\"}}\n")
    };
    let removal = "8 c1 send 2 DEL k\n9 c1 ok 2 1\n";
    for (name, verdict) in [
        ("failover", NotObserved),
        ("node-restart", NotObserved),
        ("power-loss", NotObserved),
        ("server-pause", Violated),
    ] {
        let (start, end) = (fault("start", 5.0, name), fault("end", 6.0, name));
        let during = fault("end", 10.0, name);
        for text in [
            format!("{HELD}{start}{end}{removal}"),
            format!("{HELD}{start}{removal}{during}"),
        ] {
            let judgement = judged(&spoken("", &text));
            let found = finding(&judgement, "owner-only-release");
            assert_eq!(found.verdict, verdict, "{name}\n{text}");
        }
        // Whoever claims after it owns what is there.
        let earlier = format!(
            "{}{}{HELD}{removal}",
            fault("start", 0.0, name),
            fault("end", 0.5, name)
        );
        let earlier = judged(&spoken("", &earlier));
        assert_eq!(
            finding(&earlier, "owner-only-release").verdict,
            Violated,
            "{name}"
        );
    }
}

/// Clients in turn, each with a clean hold; every so often one removes what the
/// next one holds.
fn turns(turns: usize, planted: impl Fn(usize) -> bool) -> String {
    let mut events = String::new();
    for turn in 0..turns {
        let (t, c, id) = (turn * 20, turn % 3, turn * 10);
        events += &format!(
            "{t} {c} invoke acquire\n{} c{c} send {id} SETNX k 1\n{} c{c} ok {id} 1\n{} {c} ok acquire\n",
            t + 1,
            t + 2,
            t + 3,
        );
        let other = (turn + 1) % 3;
        events += &format!(
            "{} c{other} send {} SETNX k 1\n{} c{other} ok {} 0\n",
            t + 4,
            id + 1,
            t + 5,
            id + 1
        );
        if planted(turn) {
            events += &format!(
                "{} c{other} send {} DEL k\n{} c{other} ok {} 1\n",
                t + 6,
                id + 2,
                t + 7,
                id + 2
            );
        }
        // The reply to the DEL is read after the next owner's SETNX.
        events += &format!(
            "{} {c} invoke release\n{} c{c} send {} DEL k\n{} c{c} ok {} 1\n{} {c} ok release\n",
            t + 8,
            t + 9,
            id + 3,
            t + 22,
            id + 3,
            t + 23
        );
    }
    let mut lines: Vec<&str> = events.lines().collect();
    lines.sort_by_key(|line| {
        line.split(' ')
            .next()
            .and_then(|time| time.parse::<u64>().ok())
    });
    lines.join("\n")
}

#[test]
fn planted_violations_are_found_in_a_long_history() {
    for count in [0, 5] {
        let text = spoken("", &turns(5_000, |turn| count > 0 && turn % 1_000 == 777));
        let judgement = judged(&text);
        let found = finding(&judgement, "owner-only-release");
        assert_eq!(found.violations, count, "{:#?}", found.examples);
        assert_eq!(found.checked, 5_000 + count);
        assert_eq!(found.figures.get("possible"), None);
    }
}

fn draw() -> impl Strategy<Value = owner_only::Draw> {
    (0..3u64, 0..3usize, 0..16u8, 0..16u8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn it_is_judged_as_by_trying_every_reading_and_order(
        draws in prop::collection::vec(draw(), 0..44),
        coarse in any::<bool>(),
    ) {
        let acts = owner_only::acts(&draws, coarse);
        let text = history("", &owner_only::events(&acts));
        let judgement = judged(&text);
        let found = finding(&judgement, "owner-only-release");
        if let Some(slow) = owner_only::slow(&acts) {
            let possible = found.figures.get("possible").copied().unwrap_or_default() as u64;
            let fast = (found.checked, found.violations, possible);
            prop_assert_eq!(fast, slow, "{}\n{:#?}", text, found);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn lines_of_one_time_may_stand_in_any_order(
        draws in prop::collection::vec(draw(), 0..44),
        seed in any::<u32>(),
    ) {
        let acts = owner_only::acts(&draws, true);
        let text = history("", &owner_only::events(&acts));
        let swapped = naive::random::swapped(&text, seed.into());
        let answer = |text: &str| {
            let judgement = judged(text);
            let found = finding(&judgement, "owner-only-release");
            (found.verdict, found.checked, found.violations, format!("{:?}", found.figures))
        };
        prop_assert_eq!(answer(&text), answer(&swapped), "{}\nswapped:\n{}", text, swapped);
    }
}

#[test]
fn generated_histories_reach_every_answer() {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let (mut checked, mut sure, mut possible) = (0, 0, 0);
    for _ in 0..20_000 {
        let length = random(44);
        let draws: Vec<owner_only::Draw> = (0..length)
            .map(|_| {
                (
                    random(3),
                    random(3) as usize,
                    random(16) as u8,
                    random(16) as u8,
                )
            })
            .collect();
        let slow = owner_only::slow(&owner_only::acts(&draws, true)).unwrap_or_default();
        (checked, sure, possible) = (checked + slow.0, sure + slow.1, possible + slow.2);
    }
    assert!(
        sure > 50 && possible > 50 && checked > 10 * sure,
        "{checked} removals, {sure} surely wrong, {possible} perhaps"
    );
}
