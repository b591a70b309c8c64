//! `run --every-server`: what each server of this machine says.

mod with_valkey {
    use crate::cli_support::*;
    use lockproof_lab::binaries;
    use lockproof_model::check::Verdict;
    use lockproof_report::model::Report;

    const MATRIX: &str = r#"
schema = "lockproof.run/1"
seed = 3
replays = 2
walks = 2
walk_moves = 20
states_max = 1000000

[[group]]
locks = ["token", "delifeq"]
assumptions = [[], ["client-pause"]]
properties = ["mutual-exclusion-belief"]

[[group]]
locks = ["token-wait"]
assumptions = [["failover"]]
size = { failover = 2 }
properties = ["lease"]
"#;

    #[test]
    fn each_cell_says_on_which_servers_it_was_reproduced() {
        let place = Place::new();
        place.write("matrix.toml", MATRIX);
        let said = place.run("run matrix.toml --out out --every-server --resume");
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        let text = std::fs::read_to_string(place.path("out/report.json")).unwrap();
        let report: Report = serde_json::from_str(&text).unwrap();
        let all = binaries::find(&binaries::server_directories());
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert!(all.len() > 1, "{all:?}");
        let valkey = all.iter().find(|name| name.starts_with("valkey")).unwrap();
        for cell in &report.cells {
            let names: Vec<&str> = cell.on.iter().map(|one| one.server.as_str()).collect();
            let asked = cell
                .on
                .iter()
                .filter(|one| one.replays.is_some() || one.walks.is_some());
            let asked: Vec<&str> = asked.map(|one| one.server.as_str()).collect();
            match cell.lock.as_str() {
                // It is replayed on a server of the kind that it asks for, and once.
                "delifeq" => {
                    assert_eq!(asked, [valkey]);
                    let notes = cell.on.iter().filter_map(|one| one.note.as_deref());
                    assert!(notes.clone().all(|note| note == "the lock asks for valkey"));
                }
                _ => {
                    assert_eq!(names, all);
                    assert_eq!(asked, all);
                }
            }
            for one in cell.on.iter().filter(|one| one.note.is_none()) {
                let replays = one.replays.map(|all| (all.reproduced, all.attempts));
                let walks = one.walks.map(|all| (all.count, all.diverged));
                match cell.verdict {
                    Verdict::Violated => assert_eq!((replays, walks), (Some((2, 2)), None)),
                    _ => assert_eq!((replays, walks), (None, Some((2, 0)))),
                }
            }
        }
        let violated = report
            .cells
            .iter()
            .filter(|cell| cell.verdict == Verdict::Violated);
        assert!(violated.count() >= 2);
        let markdown = std::fs::read_to_string(place.path("out/report.md")).unwrap();
        for text in [&said.out, &markdown] {
            assert!(text.contains("violations reproduced: "), "{text}");
            assert!(text.contains(&format!(" on {valkey}")), "{text}");
        }
        // As it was kept.
        let again = place.run("run matrix.toml --out out --every-server --resume");
        assert!(again.err.contains("5 finished worlds taken"), "{again:#?}");
        let kept: Report =
            serde_json::from_str(&std::fs::read_to_string(place.path("out/report.json")).unwrap())
                .unwrap();
        assert_eq!(kept, report);
        // On one server it is another question.
        let one = place.run("run matrix.toml --out out --resume");
        assert!(one.err.contains("0 finished worlds taken"), "{one:#?}");
    }
}
