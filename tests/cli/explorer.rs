//! `lockproof explore`: the Explorer page speaks as stories do.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::time::Duration;

use crate::cli_support::*;
use serde_json::Value;

/// The page of a lock, served until this is dropped.
struct Page {
    child: std::process::Child,
    base: String,
}

impl Page {
    /// At a port that the system chooses.
    fn of(place: &Place, arguments: &str) -> Page {
        let mut child = place.start(&format!("explore {arguments} --address localhost:0"));
        let mut told = String::new();
        let said = child.stderr.take().unwrap();
        BufReader::new(said).read_line(&mut told).unwrap();
        let base = told
            .trim()
            .trim_start_matches("the Explorer page: ")
            .to_owned();
        let page = Page { child, base };
        let there = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            page.ask("/.status").is_some()
        });
        assert!(there, "the page answers at {}", page.base);
        page
    }

    fn ask(&self, path: &str) -> Option<Value> {
        let mut answer = ureq::get(format!("{}{path}", self.base)).call().ok()?;
        answer.body_mut().read_json().ok()
    }

    /// Action and outcome of each step that leads on from there, by its number.
    fn steps(&self, path: &str) -> Vec<(String, String)> {
        let states = self.ask(&format!("/.states/{path}")).unwrap();
        let text = |state: &Value, field: &str| state[field].as_str().unwrap_or("").to_owned();
        let states = states.as_array().unwrap().iter();
        states
            .map(|one| (text(one, "action"), text(one, "outcome")))
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn steps_and_beliefs_are_told_in_the_words_of_stories() {
    let place = Place::new();
    let page = Page::of(&place, "setnx-expire --assume client-crash");
    page.steps("");
    let first = page.steps("0");
    let actions: Vec<&str> = first.iter().map(|(action, _)| action.as_str()).collect();
    assert!(actions.contains(&"A crashes (SIGKILL)"), "{actions:?}");
    let acquire = actions
        .iter()
        .position(|action| action.contains("A calls acquire"))
        .unwrap();
    assert!(
        actions[acquire].contains("; A → N1 SETNX lock 1"),
        "{actions:?}"
    );
    assert!(
        first[acquire].1.contains("A is acquiring\nB is idle"),
        "{first:?}"
    );
    let second = page.steps(&format!("0/{acquire}"));
    assert!(
        second
            .iter()
            .any(|(action, _)| action == "N1 runs A's SETNX = 1"),
        "{second:?}"
    );
}

#[test]
fn a_counterexample_of_the_page_ends_at_its_violation() {
    let place = Place::new();
    let page = Page::of(&place, "setnx-expire --assume client-crash");
    ureq::post(format!("{}/.runtocompletion", page.base))
        .send_empty()
        .unwrap();
    let found = (0..500).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let status = page.ask("/.status")?;
        let mut properties = status["properties"].as_array()?.iter();
        let property = properties.find(|one| one[1] == "no-orphan")?;
        property[2].as_str().map(str::to_owned)
    });
    let found = found.expect("an orphan is found");
    let (before, last) = found.rsplit_once('/').unwrap();
    // Whoever comes by a link is told, too: from the second look at the same step on.
    page.steps(before);
    let (_, outcome) = &page.steps(before)[last.parse::<usize>().unwrap()];
    assert!(outcome.starts_with("violates no-orphan\n"), "{outcome}");
    assert!(outcome.contains("A is "), "{outcome}");
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_built() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = lockproof(&format!("explore token --address {address}"));
    said.failed(USAGE, &["cannot listen on", "choose another port"]);
    assert!(!said.err.contains("the Explorer page: http"), "{said:#?}");
}

#[test]
fn an_address_without_a_port_is_told_what_one_looks_like() {
    for address in ["foo", "127.0.0.1", "localhost", "127.0.0.1:70000"] {
        let said = lockproof(&format!("explore token --address {address}"));
        said.failed(USAGE, &["such as 127.0.0.1:3000"]);
    }
}
