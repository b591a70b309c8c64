//! Two callers of one process, or two lock objects of one client, that share a handle.
//!
//! Each caller is a worker process here, with a copy of the handle. What one does to it the
//! gate hands to the other before it does anything else, as one memory would.

use lockproof_lab::client::protocol::{Exchange, FromClient, ToClient};

use lockproof_trace::{Event, FaultEvent};

use super::Stop;
use super::run::Replay;

/// The client of a fault that strikes a process, and what kind of fault it is.
fn struck(event: &Event) -> Option<(u8, std::mem::Discriminant<FaultEvent>)> {
    let Event::Fault { fault } = event else {
        return None;
    };
    let client = match fault {
        FaultEvent::ClientCrash { client }
        | FaultEvent::ClientRestart { client }
        | FaultEvent::ClientPause { client, .. }
        | FaultEvent::ClientResume { client } => *client,
        _ => return None,
    };
    Some((client, std::mem::discriminant(fault)))
}

impl Replay<'_> {
    /// This step and the next one are one fault, which strikes both callers of a process.
    pub(super) fn strikes_the_process_next(&self, at: usize) -> bool {
        let fault = |at: usize| struck(&self.trace.steps.get(at)?.event);
        match (fault(at), fault(at + 1)) {
            (Some((one, this)), Some((other, next))) => {
                this == next && self.trace.setup.partner(one) == Some(other)
            }
            _ => false,
        }
    }

    /// Gives the other caller what a client has done to what both share.
    pub(super) async fn hand_over(
        &mut self,
        client: u8,
        exchange: Option<Exchange>,
    ) -> Result<(), Stop> {
        let shared = self.trace.setup.shared_handle;
        let other = self.trace.setup.partner(client).filter(|_| shared);
        let (Some(exchange), Some(other)) = (exchange, other) else {
            return Ok(());
        };
        let id = self.rig.client(other)?.fresh_id();
        let message = ToClient::Exchange { id, exchange };
        match self.rig.client(other)?.request(&message).await? {
            FromClient::Step(report) if report.exchange.is_none() => self.take(other, *report),
            answer => Err(self.misbehaved(other, "a `step` without an `exchange`", &answer)),
        }
    }
}
