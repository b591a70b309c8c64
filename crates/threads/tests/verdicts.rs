//! What each handle comes to, and which claims need which guard.

use std::collections::BTreeMap;

use lockproof_threads::{Answer, HandleInfo, Limits, Variant, Verdict, explore, handle};

/// Scene and claim.
type Place = (&'static str, &'static str);

fn answers(
    handle: &HandleInfo,
    variant: &Variant,
    without: Option<&'static str>,
) -> Vec<(&'static str, Answer)> {
    let scenes = handle
        .scenes
        .iter()
        .filter(|scene| scene.is_for(variant.id));
    scenes
        .flat_map(|scene| {
            explore(handle, variant, without, scene, &Limits::default())
                .into_iter()
                .map(|answer| (scene.id, answer))
        })
        .collect()
}

/// What is violated, and how many claims hold; nothing may be unknown.
fn come_to(handle: &HandleInfo, variant: &str, without: Option<&'static str>) -> (Vec<Place>, u32) {
    let mut variants = handle.variants.iter();
    let variant = variants.find(|one| one.id == variant).unwrap();
    let (mut violated, mut hold) = (Vec::new(), 0);
    for (scene, answer) in answers(handle, variant, without) {
        match answer.verdict {
            Verdict::Holds => hold += 1,
            Verdict::Violated(_) => violated.push((scene, answer.claim.info().id)),
            Verdict::Unknown(reason) => panic!("{} {scene}: {reason}", variant.id),
        }
    }
    (violated, hold)
}

fn is_pinned(id: &str, pinned: &[(&str, &[Place], u32)]) {
    let handle = handle(id).unwrap();
    let names: Vec<&str> = handle.variants.iter().map(|variant| variant.id).collect();
    let expected: Vec<&str> = pinned.iter().map(|(variant, ..)| *variant).collect();
    assert_eq!(names, expected);
    for (variant, violated, hold) in pinned {
        let found = come_to(handle, variant, None);
        assert_eq!(found, (violated.to_vec(), *hold), "{id} {variant}");
    }
}

fn guards_are_needed(id: &str, pinned: &[(&str, &[Place])]) {
    let handle = handle(id).unwrap();
    let repaired = handle.variants.last().unwrap().id;
    let found: BTreeMap<&str, Vec<Place>> = handle
        .guards
        .iter()
        .map(|guard| (guard.id, come_to(handle, repaired, Some(guard.id)).0))
        .collect();
    let pinned = pinned
        .iter()
        .map(|(guard, violated)| (*guard, violated.to_vec()))
        .collect();
    assert_eq!(found, pinned);
}

#[test]
fn the_articles_handle_breaks_six_claims_and_repaired_none() {
    let documented: &[Place] = &[
        ("two-locks", "renewal-runs"),
        ("next-lock", "no-leak"),
        ("same-lock-again", "own-extension"),
        ("long-hold", "lease"),
        ("very-long-hold", "renewal-runs"),
        ("overrun", "nested-hold"),
    ];
    is_pinned(
        "threadlocal-reentrant",
        &[("documented", documented, 8), ("repaired", &[], 14)],
    );
}

#[test]
fn a_map_and_one_task_break_five_claims_each_and_repaired_none() {
    let documented: &[Place] = &[
        ("handover", "renewal-runs"),
        ("unlock-against-renewal", "renewal-runs"),
        ("unlock-against-renewal", "one-renewal"),
        ("handover-and-renewal", "renewal-runs"),
        ("late-renewal", "renewal-runs"),
    ];
    let one_task: &[Place] = &[
        ("two-threads", "one-renewal"),
        ("handover", "one-renewal"),
        ("lock-again", "one-renewal"),
        ("unlock-against-renewal", "renewal-runs"),
        ("unlock-against-renewal", "one-renewal"),
    ];
    is_pinned(
        "redisson-watchdog",
        &[
            ("documented", documented, 18),
            ("one-task", one_task, 17),
            ("repaired", &[], 23),
        ],
    );
}

#[test]
fn each_guard_of_the_articles_handle_is_needed() {
    guards_are_needed(
        "threadlocal-reentrant",
        &[
            ("own-flag", &[("two-locks", "renewal-runs")]),
            ("token", &[("same-lock-again", "own-extension")]),
            (
                "compare",
                &[
                    ("same-lock-again", "own-extension"),
                    ("handover", "own-extension"),
                ],
            ),
            (
                "third",
                &[
                    ("two-locks", "renewal-runs"),
                    ("next-lock", "renewal-runs"),
                    ("long-hold", "lease"),
                    ("very-long-hold", "renewal-runs"),
                ],
            ),
            ("until-unlock", &[("very-long-hold", "renewal-runs")]),
            ("ask-again", &[("overrun", "nested-hold")]),
            (
                "own-counts",
                &[("two-threads", "exclusion"), ("two-threads", "own-count")],
            ),
        ],
    );
}

#[test]
fn each_guard_of_the_watchdog_is_needed() {
    let handed_over: &[Place] = &[
        ("handover", "renewal-runs"),
        ("handover-and-renewal", "renewal-runs"),
    ];
    guards_are_needed(
        "redisson-watchdog",
        &[
            ("newest-counts", handed_over),
            ("own-unlock", handed_over),
            (
                "own-reply",
                &[
                    ("unlock-against-renewal", "renewal-runs"),
                    ("unlock-against-renewal", "one-renewal"),
                    ("handover-and-renewal", "renewal-runs"),
                    ("late-renewal", "renewal-runs"),
                ],
            ),
            ("last-unlock", &[("nested", "renewal-runs")]),
            (
                "thread-id",
                &[
                    ("two-threads", "exclusion"),
                    ("handover", "exclusion"),
                    ("late-renewal", "own-extension"),
                    ("long-hold", "exclusion"),
                ],
            ),
            ("compare", &[("late-renewal", "own-extension")]),
            (
                "third",
                &[
                    ("unlock-against-renewal", "renewal-runs"),
                    ("handover-and-renewal", "renewal-runs"),
                    ("late-renewal", "renewal-runs"),
                    ("long-hold", "lease"),
                    ("long-hold", "exclusion"),
                ],
            ),
            (
                "cancel",
                &[
                    ("two-threads", "one-renewal"),
                    ("handover", "one-renewal"),
                    ("lock-again", "one-renewal"),
                    ("unlock-against-renewal", "one-renewal"),
                ],
            ),
        ],
    );
}
