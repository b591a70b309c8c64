//! A network of the run's own: partitions that drop packets.

use crate::cli_support::*;
use serde_json::Value;

const STORY: &str = r#"
schema = "lockproof.scenario/1"
name = "cable"
story = "The cable of one client is pulled."

[topology]
kind = "single"

[clients]
count = 3
ttl_ms = 1000
timeout_ms = 150

[nemesis]
quiet_ms = [2500, 2500]
fault_ms = [700, 700]
faults = [{ fault = "partition", between = ["client-1"], and = ["nodes"], one_way = false, bytes = "dropped" }]

[run]
duration_ms = 5600
runs = 1

[expect.token]
violated = []
"#;

fn history(place: &Place) -> Vec<Value> {
    let path = place.path("runs/cable/token/seed-1.history.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().skip(1);
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// When the nemesis said this phase, in ns.
fn said(history: &[Value], phase: &str) -> u64 {
    let event = history
        .iter()
        .find(|event| event["value"]["phase"] == phase);
    event.expect(phase)["time"].as_u64().unwrap()
}

/// Acquires of a client that the server answered between these times: with the lock
/// or with "busy", whoever happened to hold it when the cable was pulled.
fn answered(history: &[Value], client: u64, from: u64, to: u64) -> usize {
    let counts = |event: &&Value| {
        let time = event["time"].as_u64().unwrap();
        event["process"] == client
            && event["f"] == "acquire"
            && (event["type"] == "ok" || event["error"] == "busy")
            && (from..to).contains(&time)
    };
    history.iter().filter(counts).count()
}

mod with_iptables {
    use super::*;

    #[test]
    fn a_pulled_cable_stops_one_client_and_it_goes_on_afterwards() {
        let place = Place::new();
        place.write("story.toml", STORY);
        let run = place.run("torture story.toml --lock token --own-network");
        assert!([Some(FINE), Some(UNKNOWN)].contains(&run.code), "{run:#?}");
        let history = history(&place);
        let (from, to) = (said(&history, "started"), said(&history, "healing"));
        let end = u64::MAX;
        assert!(answered(&history, 1, 0, from) > 0, "before");
        assert_eq!(answered(&history, 1, from + 50_000_000, to), 0, "during");
        // TCP sends again within twice the time that it was cut off.
        assert!(answered(&history, 1, to, end) > 0, "after");
        assert!(answered(&history, 0, from, to) > 0, "others go on");
        // Nobody answers, not even to a new connection: what is asked times out.
        let refused = history.iter().any(|event| {
            event["process"] == 1
                && event["error"]
                    .as_str()
                    .is_some_and(|error| error.contains("refused"))
        });
        assert!(!refused);
    }
}

#[test]
fn dropped_packets_need_a_network_of_ones_own() {
    let place = Place::new();
    place.write("story.toml", STORY);
    let run = place.run("torture story.toml --lock token");
    run.failed(INTERNAL, &["partition cannot be had here", "--own-network"]);
    place
        .run("torture story.toml --own-network --attach redis://127.0.0.1:1")
        .failed(USAGE, &["--attach"]);
}

/// Without root the kernel refuses the network; as root on a search path without
/// iptables its rules cannot be made.
#[test]
fn a_network_that_cannot_be_had_is_an_error_that_says_what_it_takes() {
    let place = Place::new();
    place.write("story.toml", STORY);
    let mut command = place.command("torture story.toml --lock token --own-network");
    let said = Said::from(command.env("PATH", "/nowhere").output().unwrap());
    said.failed(USAGE, &["failed to", "root"]);
}
