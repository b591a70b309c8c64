//! Claims about aiming: whom and when faults strike that wait for a holder.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::nemesis::*;
use lockproof_lab::nemesis::{
    Act, Clients, FaultSpec, Field, Holding, NemesisEvent, Phase, Schedule, When,
};
use lockproof_lab::topology::{Topology, TopologyKind, TopologyOptions};

/// Clients whose holds are a function of how often somebody has looked.
struct Scripted<F> {
    holders: F,
    looks: AtomicUsize,
    done: Mutex<Vec<String>>,
}

fn scripted<F: Fn(usize) -> Vec<Holding> + Send>(holders: F) -> Scripted<F> {
    Scripted {
        holders,
        looks: AtomicUsize::new(0),
        done: Mutex::default(),
    }
}

impl<F> Scripted<F> {
    fn note(&self, what: &str, client: u16) -> io::Result<()> {
        self.done.lock().unwrap().push(format!("{what} {client}"));
        Ok(())
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }
}

impl<F: Fn(usize) -> Vec<Holding> + Send> Clients for Scripted<F> {
    fn pause(&mut self, client: u16) -> io::Result<()> {
        self.note("pause", client)
    }

    fn resume(&mut self, client: u16) -> io::Result<()> {
        self.note("resume", client)
    }

    fn kill(&mut self, client: u16) -> io::Result<()> {
        self.note("kill", client)
    }

    fn restart(&mut self, client: u16, _: bool) -> io::Result<()> {
        self.note("restart", client)
    }

    fn skew(&mut self, client: u16, _: i64) -> io::Result<()> {
        self.note("skew", client)
    }

    fn holders(&self) -> Vec<Holding> {
        (self.holders)(self.looks.fetch_add(1, Ordering::Relaxed))
    }

    fn process(&self, client: u16) -> u32 {
        100 + u32::from(client)
    }
}

fn held_by(client: u16, hold: u64) -> Vec<Holding> {
    vec![Holding { hold, client }]
}

fn pause() -> FaultSpec {
    FaultSpec::ClientPause {
        clients: one("the-holder"),
    }
}

/// The fault's own schedule, with every event that it tells.
async fn played(
    topology: &mut Topology,
    clients: &mut dyn Clients,
    schedule: &Schedule,
) -> Vec<NemesisEvent> {
    let mut events = Vec::new();
    let mut field = Field::new(topology, clients);
    let done = schedule.run(&mut field, |event| events.push(event)).await;
    done.unwrap();
    events
}

#[tokio::test]
async fn a_pause_of_the_holder_waits_for_one_and_tells_who_it_was() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = scripted(|looks| match looks {
        0..20 => vec![],
        _ => held_by(1, 7),
    });
    let schedule = Schedule::of(3_000, &[(0, 10, pause())]);
    let events = played(&mut topology, &mut clients, &schedule).await;
    assert_eq!(clients.done(), ["pause 1", "resume 1"]);
    let started = events.iter().find(|event| event.phase == Phase::Started);
    let details = &started.unwrap().details;
    assert_eq!(details["clients"], serde_json::json!([1]));
    assert_eq!(details["processes"], serde_json::json!([101]));
}

#[tokio::test]
async fn whoever_left_before_the_signal_came_goes_on_and_another_is_struck() {
    let mut topology = start(TopologyKind::Single).await;
    // Two looks find client 0; when it stands it has left.
    let mut clients = scripted(|looks| match looks {
        0..2 => held_by(0, 1),
        2..5 => vec![],
        _ => held_by(1, 2),
    });
    let schedule = Schedule::of(3_000, &[(0, 10, pause())]);
    played(&mut topology, &mut clients, &schedule).await;
    let done = clients.done();
    assert_eq!(done, ["pause 0", "resume 0", "pause 1", "resume 1"]);
}

#[tokio::test]
async fn a_crash_of_the_holder_kills_it_where_it_stands() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = scripted(|_| held_by(1, 1));
    let crash = FaultSpec::ClientCrash {
        clients: one("the-holder"),
    };
    let schedule = Schedule::of(1_000, &[(0, 10, crash)]);
    played(&mut topology, &mut clients, &schedule).await;
    assert_eq!(clients.done(), ["pause 1", "kill 1", "restart 1"]);
}

#[tokio::test]
async fn a_fault_for_a_holder_that_never_comes_strikes_nobody_and_says_so() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = scripted(|_| vec![]);
    let cut = FaultSpec::Reset {
        between: one("the-holder"),
        and: one("nodes"),
    };
    for what in [pause(), cut] {
        let schedule = Schedule::of(200, &[(0, 100, what)]);
        let events = played(&mut topology, &mut clients, &schedule).await;
        let phases: Vec<Phase> = events.iter().map(|event| event.phase).collect();
        let all = [
            Phase::Starting,
            Phase::Started,
            Phase::Healing,
            Phase::Healed,
        ];
        assert_eq!(phases, all);
        let missed = events[1].details["missed"].as_str().unwrap();
        assert!(missed.contains("nobody"), "{missed}");
    }
    assert!(clients.done().is_empty());
}

/// A schedule whose starts wait for a hold.
fn held(duration_ms: u64, faults: &[(u64, u64, FaultSpec)]) -> Schedule {
    let mut schedule = Schedule::of(duration_ms, faults);
    for step in &mut schedule.steps {
        step.when = match step.act {
            Act::Start => When::Held,
            Act::Heal => When::AnyTime,
        };
    }
    schedule
}

fn server_pause() -> FaultSpec {
    FaultSpec::ServerPause {
        servers: one("node-0"),
    }
}

#[tokio::test]
async fn a_fault_that_waits_lasts_as_long_and_one_without_time_left_is_left_out() {
    let mut topology = start(TopologyKind::Single).await;
    // A look takes a ms at least, so it waits for 150.
    let mut clients = scripted(|looks| match looks {
        0..150 => vec![],
        _ => held_by(0, 1),
    });
    let faults = [(0, 150, server_pause()), (200, 390, server_pause())];
    let schedule = held(400, &faults);
    let events = played(&mut topology, &mut clients, &schedule).await;
    let of = |id: u32| events.iter().filter(move |event| event.id == Some(id));
    assert_eq!(of(0).count(), 4);
    assert_eq!(of(1).count(), 0, "it would end after the run");
    let at = |phase| of(0).find(|event| event.phase == phase).unwrap().at;
    let lasted = at(Phase::Healing) - at(Phase::Starting);
    assert!(lasted >= Duration::from_millis(145), "{lasted:?}");
}

#[tokio::test]
async fn a_fault_that_waits_in_vain_strikes_all_the_same() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = scripted(|_| vec![]);
    let schedule = held(200, &[(0, 100, server_pause())]);
    let events = played(&mut topology, &mut clients, &schedule).await;
    assert_eq!(events.len(), 4);
    assert_eq!(events[1].details["servers"], serde_json::json!(["node-0"]));
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_holder() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = scripted(|_| vec![]);
    let schedule = held(600_000, &[(0, 10, server_pause())]);
    let mut field = Field::new(&mut topology, &mut clients);
    let mut events = Vec::new();
    let stop = tokio::time::sleep(Duration::from_millis(30));
    let run = schedule.run_until(&mut field, |event| events.push(event), stop);
    run.await.unwrap();
    assert!(events.is_empty(), "{events:?}");
}

#[test]
fn a_schedule_says_what_its_faults_wait_for_and_nothing_where_they_do_not() {
    let schedule = held(400, &[(0, 150, pause())]);
    let text = schedule.to_json();
    assert_eq!(Schedule::from_json(&text).unwrap(), schedule);
    assert_eq!(text.matches("\"when\":\"held\"").count(), 1);
    assert!(
        text.contains("the-holder"),
        "who that is only the run knows"
    );
    let plain = Schedule::of(400, &[(0, 150, server_pause())]);
    assert!(!plain.to_json().contains("when"));
}

#[tokio::test]
async fn clients_are_as_far_away_as_the_options_say_also_after_a_slow_network() {
    let options = TopologyOptions {
        latency_ms: 30,
        ..options(TopologyKind::Single)
    };
    let mut topology = Topology::start(&options).await.unwrap();
    let round_trip = async |topology: &Topology| {
        let mut client = client(topology, 0, 0).await;
        let begun = Instant::now();
        client.ask("PING").await.unwrap();
        begun.elapsed()
    };
    let least = Duration::from_millis(58);
    assert!(round_trip(&topology).await >= least);
    let slow = FaultSpec::SlowNetwork {
        between: one("clients"),
        and: one("nodes"),
        latency_ms: 40,
        jitter_ms: 0,
    };
    let mut nobody = scripted(|_| vec![]);
    with(&mut topology, &mut nobody, slow, async |topology| {
        let more = Duration::from_millis(80);
        assert!(round_trip(topology).await >= least + more);
    })
    .await;
    assert!(round_trip(&topology).await >= least);
}
