//! What breaks each lock: the sentence, what it leaves open, and the drawing.

use crate::report_common::{report, sizes};
use lockproof_model::check::Verdict;
use lockproof_report::frontier::{Answer, frontiers};
use lockproof_report::model::{Cell, Report};
use lockproof_report::{html, lock_pages, markdown, terminal};
use lockproof_trace::Assumption;

/// A switch with its usual budget and size at a lease of three ticks.
fn fault(name: &str) -> Assumption {
    let size = match name {
        "client-pause" | "delay" | "node-down" => 4,
        "clock-jump" => 3,
        "client-skew" | "min-replicas" => 2,
        "failover" => 1,
        _ => 0,
    };
    Assumption {
        name: name.into(),
        budget: 1,
        size,
    }
}

/// A report on one lock: each set of faults with a verdict for each of two properties.
fn of(sets: &[(&[&str], &str)]) -> Report {
    let mut report = report();
    let like = report.cells[0].clone();
    report.cells.clear();
    report.counterexamples.clear();
    for (set, letters) in sets {
        for (letter, property) in letters.chars().zip(["no-orphan", "lease"]) {
            let verdict = match letter {
                'H' => Verdict::Holds,
                'V' => Verdict::Violated,
                '?' => Verdict::Unknown,
                _ => continue,
            };
            report.cells.push(Cell {
                lock: "token".into(),
                property: property.into(),
                assumptions: set.iter().map(|name| fault(name)).collect(),
                sizes: sizes(1),
                verdict,
                expected: None,
                ..like.clone()
            });
        }
    }
    report
}

fn said(sets: &[(&[&str], &str)]) -> (String, String) {
    let report = of(sets);
    let found = frontiers(&report);
    assert_eq!(found.len(), 1);
    (found[0].sentence(), found[0].saving_words())
}

#[test]
fn it_names_the_smallest_sets_that_break_and_the_largest_that_do_not() {
    let (sentence, saving) = said(&[
        (&[], "HH"),
        (&["client-pause"], "HV"),
        (&["loss"], "HH"),
        (&["clock-jump"], "HH"),
        (&["delay"], "HH"),
        (&["loss", "clock-jump"], "VH"),
        (&["loss", "delay"], "HH"),
        (&["loss", "client-pause"], "VV"),
    ]);
    assert_eq!(
        sentence,
        "breaks with {client-pause} or {loss, clock-jump}; \
         safe under each of {clock-jump} and {loss, delay}"
    );
    // Nothing, four alone, six pairs. Two pairs with a pause follow; clock-jump with delay does not.
    assert_eq!(
        saving,
        "8 of 11 sets of at most 2 faults asked for, 2 follow, 1 not known"
    );
}

#[test]
fn budgets_and_sizes_are_named_where_they_are_not_the_usual_ones() {
    let mut report = of(&[
        (&[], "HH"),
        (&["failover"], "VH"),
        (&["client-pause"], "HH"),
    ]);
    report.cells[2].assumptions[0].size = 2;
    report.cells[3].assumptions[0].size = 2;
    report.cells[4].assumptions[0].budget = 2;
    report.cells[5].assumptions[0].budget = 2;
    let sentence = frontiers(&report)[0].sentence();
    assert_eq!(
        sentence,
        "breaks with {failover (2 writes)}; safe under {client-pause ×2 (4 ticks)}"
    );
}

#[test]
fn a_property_that_was_not_asked_under_a_set_is_not_known_there() {
    let (sentence, _) = said(&[(&[], "HH"), (&["loss"], "H-"), (&["delay"], "?H")]);
    assert_eq!(
        sentence,
        "nothing that was checked breaks it; safe without faults; not known under {loss} or {delay}"
    );
}

#[test]
fn what_is_unknown_and_follows_from_others_is_not_called_unknown() {
    let (sentence, saving) = said(&[
        (&[], "HH"),
        (&["loss"], "VH"),
        (&["delay"], "HH"),
        (&["loss", "delay"], "??"),
    ]);
    assert_eq!(sentence, "breaks with {loss}; safe under {delay}");
    assert_eq!(saving, "4 of 4 sets of at most 2 faults asked for");
}

#[test]
fn nothing_follows_for_switches_that_change_what_others_mean() {
    // A lock that a failover breaks, and that min-replicas saves.
    let (sentence, saving) = said(&[
        (&[], "HH"),
        (&["failover"], "VH"),
        (&["min-replicas"], "HH"),
        (&["failover", "min-replicas"], "HH"),
        (&["no-such-fault"], "HH"),
    ]);
    assert_eq!(
        sentence,
        "breaks with {failover}; safe without faults, and under each of {min-replicas}, \
         {no-such-fault} and {failover, min-replicas}"
    );
    assert_eq!(saving, "5 of 5 sets of at most 1 fault asked for");
}

#[test]
fn a_lock_that_breaks_without_faults_says_only_that() {
    let (sentence, _) = said(&[(&[], "VH"), (&["shared-owner"], "VV")]);
    assert_eq!(sentence, "breaks without any fault");
}

/// The other way to know: every set of up to three of six faults is asked whether its answer is one of
/// the checked ones, follows, or is open.
#[test]
fn what_follows_is_what_brute_force_says() {
    let names = [
        "client-crash",
        "loss",
        "delay",
        "node-flush",
        "overrun",
        "partition",
    ];
    let mut random = 12345_u64;
    let mut draw = move |below: u64| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    for _ in 0..60 {
        let broken: Vec<u64> = (0..3).map(|_| 1 + draw(63)).collect();
        let breaks = |set: u64| broken.iter().any(|part| part & set == *part);
        let small: Vec<u64> = (0..64).filter(|set: &u64| set.count_ones() <= 3).collect();
        // All singles, so that each fault is known, and one of all three, so that these count.
        let asked: Vec<u64> = small
            .iter()
            .copied()
            .filter(|set| set.count_ones() <= 1 || *set == 7 || draw(4) == 0)
            .collect();
        let sets: Vec<Vec<&str>> = asked
            .iter()
            .map(|set| {
                (0..6)
                    .filter(|at| set >> at & 1 == 1)
                    .map(|at| names[at])
                    .collect()
            })
            .collect();
        let table: Vec<(&[&str], &str)> = asked
            .iter()
            .zip(&sets)
            .map(|(set, names)| (names.as_slice(), if breaks(*set) { "HV" } else { "HH" }))
            .collect();
        let report = of(&table);
        let found = &frontiers(&report)[0];
        let saving = found.saving.unwrap();
        let follows = |set: &&u64| {
            !asked.contains(set)
                && asked.iter().any(|known| match breaks(*known) {
                    true => known & **set == *known,
                    false => known & **set == **set,
                })
        };
        let follow = small.iter().filter(follows).count();
        assert_eq!(
            (saving.sets, saving.asked, saving.follow),
            (small.len(), asked.len(), follow)
        );
        for one in &found.sets {
            let extreme = found.sets.iter().all(|other| {
                let within = |part: &[Assumption], whole: &[Assumption]| {
                    part.len() < whole.len() && part.iter().all(|one| whole.contains(one))
                };
                other.answer != one.answer
                    || match one.answer {
                        Answer::Breaks => !within(other.set, one.set),
                        _ => !within(one.set, other.set),
                    }
            });
            assert_eq!(one.extreme, extreme, "{:?}", one.set);
        }
    }
}

#[test]
fn every_rendering_has_the_same_sentence() {
    let report = of(&[
        (&[], "HH"),
        (&["client-pause"], "HV"),
        (&["loss"], "HH"),
        (&["loss", "client-pause"], "VV"),
    ]);
    let sentence = frontiers(&report)[0].sentence();
    assert_eq!(sentence, "breaks with {client-pause}; safe under {loss}");
    let page = lock_pages(&report);
    let page = &page
        .iter()
        .find(|(path, _)| path == "locks/token.md")
        .unwrap()
        .1;
    assert!(
        page.contains(&format!("\n**token** {sentence}. (")),
        "{page}"
    );
    assert!(page.contains("](token.svg)"), "{page}");
    assert!(markdown(&report).contains(&format!("- **token** {sentence}. (")));
    assert!(
        html(&report)
            .unwrap()
            .contains(&format!("<dt>token</dt><dd>{sentence}. "))
    );
    assert!(terminal::matrix(&report).contains(&format!("\ntoken {sentence}.\n")));
    let narrow = terminal::matrix_within(&report, 40);
    let lines: Vec<&str> = narrow.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("token breaks"))
        .unwrap();
    assert!(
        lines[at..at + 3]
            .iter()
            .all(|line| line.chars().count() <= 40),
        "{narrow}"
    );
}

#[test]
fn each_size_of_a_lock_has_a_sentence_and_a_drawing_of_its_own() {
    let mut report = of(&[(&[], "HH"), (&["loss"], "HH")]);
    let mut larger = report.cells.clone();
    for cell in &mut larger {
        cell.sizes.clients = 3;
        cell.verdict = Verdict::Violated;
    }
    report.cells.extend(larger);
    let found = frontiers(&report);
    let titles: Vec<String> = found.iter().map(|one| one.title()).collect();
    assert_eq!(
        titles,
        [
            "token (2 clients, 1 node, lease 3 ticks)",
            "token (3 clients, 1 node, lease 3 ticks)"
        ]
    );
    let pages = lock_pages(&report);
    let paths: Vec<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "locks/README.md",
            "locks/token.md",
            "locks/token.svg",
            "locks/token+2.svg"
        ]
    );
}

fn drawing(report: &Report) -> String {
    let pages = lock_pages(report);
    let found = pages.iter().find(|(path, _)| path == "locks/token.svg");
    found.unwrap().1.clone()
}

#[test]
fn the_drawing_reads_as_expected() {
    let report = of(&[
        (&[], "HH"),
        (&["client-pause"], "HV"),
        (&["loss"], "HH"),
        (&["clock-jump"], "?H"),
        (&["loss", "client-pause"], "VV"),
    ]);
    let svg = drawing(&report);
    let style = svg.find("<style>").unwrap()..svg.find("</style>").unwrap();
    let mut bare = svg.clone();
    bare.replace_range(style, "<style>");
    insta::assert_snapshot!(bare.replace('<', "\n<"));
}

#[test]
fn nothing_of_a_hostile_report_is_markup_in_the_drawing() {
    let mut report = of(&[(&[], "HH"), (&["loss"], "VH")]);
    for cell in &mut report.cells[2..] {
        cell.assumptions[0].name = "\"><script>alert(1)</script>&\u{1b}[2J\n".into();
    }
    let page = html(&report).unwrap();
    for text in [drawing(&report), page] {
        assert!(!text.contains("<script>alert"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
    let svg = drawing(&report);
    let mut reader = quick_xml::Reader::from_str(&svg);
    loop {
        match reader.read_event() {
            Ok(quick_xml::events::Event::Eof) => break,
            event => drop(event.unwrap()),
        }
    }
}

#[test]
fn any_number_of_sets_is_bounded_in_time_and_size() {
    let mut report = of(&[(&[], "HH")]);
    let like = report.cells[0].clone();
    for budget in 0..200_u8 {
        for size in 0..30_u8 {
            let mut cell = like.clone();
            cell.assumptions = vec![Assumption {
                name: "loss".into(),
                budget,
                size,
            }];
            report.cells.push(cell);
        }
    }
    let found = &frontiers(&report)[0];
    assert_eq!(found.sets.len() + found.left_out, 6001);
    assert!(found.sentence().len() < 2_000, "{}", found.sentence());
    assert!(drawing(&report).len() < 40_000);
    assert!(drawing(&report).contains("sets not drawn"));
}

#[test]
fn a_drawing_of_single_faults_is_no_wider_than_a_telephone() {
    let longest = [
        "node-restart-everysec",
        "failover-split-brain",
        "partition-one-way",
    ];
    let mut sets: Vec<(&[&str], &str)> = vec![(&[], "HH")];
    sets.extend(
        longest
            .iter()
            .map(|name| (std::slice::from_ref(name), "HV")),
    );
    let svg = drawing(&of(&sets));
    let width = svg
        .split("width=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(width.parse::<u32>().unwrap() <= 390, "{width}");
}
