//! Connections on which clients listen, and what was under way on them when they ended.

use crate::gate_support::options as gate;
use crate::world_support::{builtin, options, set, small};
use lockproof_model::check::Checker;
use lockproof_replay::GatePool;
use lockproof_trace::{Event, FaultEvent, Trace};

/// The answer to a SUBSCRIBE is lost, and the client listens again later.
fn loses_an_answer_and_listens_again(walk: &Trace) -> bool {
    let mut asked = Vec::new();
    let mut lost = None;
    for step in &walk.steps {
        match &step.event {
            Event::Send {
                client,
                message,
                argv,
                ..
            } if argv[0] == "SUBSCRIBE" => asked.push((*client, *message)),
            Event::Fault {
                fault:
                    FaultEvent::Lose {
                        client,
                        message,
                        reply: true,
                        ..
                    },
            } if asked.contains(&(*client, *message)) => lost = Some(*client),
            Event::Publish { client, .. } if lost == Some(*client) => return true,
            _ => {}
        }
    }
    false
}

#[tokio::test]
async fn what_a_server_sent_on_a_connection_that_ended_is_not_taken_for_what_it_sends_on_the_next()
{
    let (file, sizes) = (builtin("redisson"), small("redisson"));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set("loss", sizes.ttl_ticks), 0..3000, 60);
    let telling = walks.unwrap();
    let telling = telling
        .iter()
        .filter(|walk| loses_an_answer_and_listens_again(walk));
    let mut pool = GatePool::new(gate());
    let mut replayed = 0;
    for walk in telling.take(12) {
        let verdict = pool.replay(walk, "redisson").await.verdict;
        assert!(verdict.is_reproduced(), "{verdict:?}");
        replayed += 1;
    }
    assert!(replayed > 4, "{replayed}");
}

#[tokio::test]
async fn what_still_waits_at_a_server_when_a_trace_ends_takes_nothing_from_the_next() {
    let (file, sizes) = (builtin("token-signalled"), small("token-signalled"));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set("cancel", sizes.ttl_ticks), 0..30, 40);
    let mut pool = GatePool::new(gate());
    let mut waiting = 0;
    for walk in walks.unwrap() {
        let verdict = pool.replay(&walk, "token-signalled").await.verdict;
        assert!(verdict.is_reproduced(), "{verdict:?}");
        waiting += usize::from(is_held_back_at_the_end(&walk));
    }
    assert!(waiting > 2, "{waiting}");
}

fn is_held_back_at_the_end(walk: &Trace) -> bool {
    let mut held = Vec::new();
    for step in &walk.steps {
        match &step.event {
            Event::Block { client, .. } => held.push(*client),
            Event::Execute { client, .. } => held.retain(|other| other != client),
            _ => {}
        }
    }
    !held.is_empty()
}
