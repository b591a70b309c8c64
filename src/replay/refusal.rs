//! Clients that go on before a trace has them do so.
//!
//! A refused connection is no message that a proxy could hold: a client hears of it at
//! once, and goes on. Where a trace has it hear later, or call again without a pause, the
//! client may be ahead of the trace by then, and such a trace cannot be enforced.

use lockproof_trace::{Event, Step, Trace};

use super::Stop;
use super::run::is_consequence;

/// If such a client has called by this step, that is why the replay stopped there.
pub(super) fn blame_a_client_that_goes_on(trace: &Trace, at: usize, stop: Stop) -> Stop {
    let refused = trace.steps.iter().enumerate();
    let mut refused = refused.filter_map(|(fails, step)| match step.event {
        Event::Fail {
            client,
            message,
            definite: true,
            ..
        } => Some((fails, client, message)),
        _ => None,
    });
    let ahead = refused.find(|(fails, client, message)| {
        let sent = |step: &Step| matches!(step.event, Event::Send { message: sent, .. } if sent == *message);
        let sent = trace.steps.iter().position(sent).unwrap_or(0);
        let late = hears_late(&trace.steps[sent..*fails]);
        sent <= at && (late || calls_again(&trace.steps[fails + 1..], *client))
    });
    match ahead {
        None => stop,
        Some((_, client, _)) => Stop::NotReplayable(format!(
            "client {client} hears of a refused connection at once, and went on before the \
             trace has it do so; nothing can hold it back"
        )),
    }
}

/// Something else happens between the call and the news that it was refused.
fn hears_late(between: &[Step]) -> bool {
    let other =
        |step: &Step| !is_consequence(&step.event) && !matches!(step.event, Event::Fail { .. });
    between.iter().any(other)
}

/// What the client does upon the news is another call.
fn calls_again(after: &[Step], of_client: u8) -> bool {
    let mut now = after.iter().take_while(|step| is_consequence(&step.event));
    now.any(|step| matches!(step.event, Event::Send { client, .. } if client == of_client))
}
