//! What servers and clients show of an endless run, of what a majority can do, and of what a
//! client leaves behind at once.
//!
//! No replay is endless. It goes round as often as the trace does, and looks at what is there
//! each time a round begins and at the end: the phases of clients and what their threads wait
//! for; the keys of servers, by whom they were written, and how long they live on. If these agree,
//! whoever did it thrice can do it for ever. (Tokens and time stamps are new in each round, so
//! values are not compared.)

use lockproof_trace::{Event, Outcome, Repeats, words};

use super::Stop;
use super::confirm::Sight;
use super::content::shown;
use super::run::Replay;

/// What is there when a round begins: a line for each client and for each key.
pub(super) type Boundary = Vec<String>;

impl Replay<'_> {
    /// If a round begins with this step, or ends the trace before it, what is there is noted.
    pub(super) async fn look_at_boundary(&mut self, at: usize) -> Result<(), Stop> {
        let Some(repeats) = &self.trace.repeats else {
            return Ok(());
        };
        let begins = repeats.rounds.iter().any(|round| *round as usize == at + 1);
        if self.watch.is_none() || !(begins || at == self.trace.steps.len()) {
            return Ok(());
        }
        let mut seen: Boundary = Vec::new();
        for client in 0..self.trace.setup.clients {
            let state = self.state(client)?;
            let does = match &state.view {
                _ if state.crashed => "is dead".to_string(),
                None => "is idle with 0 holds".to_string(),
                Some(view) => {
                    let threads = view.threads.iter();
                    let waits = threads
                        .map(|one| format!("; thread {} waits: {}", one.thread, one.waits_for));
                    let waits: String = waits.collect();
                    format!("is {} with {} holds{waits}", view.phase, view.holds)
                }
            };
            seen.push(format!("{client} {does}", client = words::client(client)));
        }
        for node in 0..self.trace.setup.nodes {
            let now_ms = self.node_ms(node)?;
            for (key, entry) in &self.node_content(node).await? {
                let mut owners: Vec<String> = entry.owners().map(words::client).collect();
                owners.sort_unstable();
                let life = entry.ends_ms.map(|ends_ms| ends_ms - now_ms);
                seen.push(format!(
                    "{node}: `{}`, a {} of {}, for {life:?} ms",
                    shown(key),
                    entry.kind,
                    owners.join(" and "),
                    node = words::node(node)
                ));
            }
        }
        self.boundaries.push(seen);
        Ok(())
    }

    /// The client tried in each round, and did not acquire in any; each began with the same.
    pub(super) fn starves(&self) -> Sight {
        let expected = "rounds that begin and end alike, in each of which the client tries to \
                        acquire and does not";
        let not = |why: String| Sight {
            expected,
            seen: false,
            evidence: vec![why],
        };
        let Some(repeats) = &self.trace.repeats else {
            return not("the trace does not say where it repeats".into());
        };
        let Some((first, rest)) = self.boundaries.split_first() else {
            return not("no round began".into());
        };
        if let Some(other) = rest.iter().position(|other| other != first) {
            return not(format!(
                "round 1 begins with [{}], and after round {} there is [{}]",
                first.join("; "),
                other + 1,
                rest[other].join("; ")
            ));
        }
        let (tries, ticks) = match self.rounds(repeats) {
            Ok(counted) => counted,
            Err(why) => return not(why),
        };
        Sight {
            expected,
            seen: rest.len() > 1,
            evidence: vec![format!(
                "{} called {} {} in {} rounds of {} each, and never acquired; all rounds \
                 begin and end alike: {}",
                words::client(repeats.client),
                repeats.op,
                words::plural(tries, "time"),
                rest.len(),
                words::plural(ticks, "tick"),
                first.join("; ")
            )],
        }
    }

    /// Calls of the client in all rounds, and ticks of one. The steps of the trace are what
    /// the real side did: it was compared with each of them.
    fn rounds(&self, repeats: &Repeats) -> Result<(u32, u32), String> {
        let steps = &self.trace.steps;
        let starts = repeats.rounds.iter().map(|start| *start as usize - 1);
        let ends = starts.clone().skip(1).chain([steps.len()]);
        let (mut calls, mut ticks) = (0, 0);
        for (number, (start, end)) in starts.zip(ends).enumerate() {
            let (mut tries, mut passed) = (0, 0);
            for step in steps.get(start..end).unwrap_or(&[]) {
                match &step.event {
                    Event::Call { client, op, .. } if *client == repeats.client => {
                        tries += u32::from(*op == repeats.op);
                    }
                    Event::Outcome {
                        client,
                        outcome: Outcome::Held { .. },
                        ..
                    } if *client == repeats.client => {
                        return Err(format!(
                            "{client} acquires in round {}",
                            number + 1,
                            client = words::client(*client)
                        ));
                    }
                    Event::Tick => passed += 1,
                    _ => {}
                }
            }
            let view = steps.get(start).map(|step| &step.clients);
            let own = view.and_then(|views| views.get(usize::from(repeats.client)));
            let waits = own.is_some_and(|view| view.phase == "acquiring");
            if tries == 0 && !waits {
                return Err(format!(
                    "{} does not try in round {}",
                    words::client(repeats.client),
                    number + 1
                ));
            }
            if passed == 0 {
                return Err(format!("no time passes in round {}", number + 1));
            }
            (calls, ticks) = (calls + tries, passed);
        }
        Ok((calls, ticks))
    }

    /// As for deadlock-freedom, but nothing is repaired, and some client reaches a majority.
    pub(super) async fn majority_is_not_enough(&mut self) -> Result<Sight, Stop> {
        let nodes = 0..self.trace.setup.nodes;
        let mut able = None;
        for client in 0..self.trace.setup.clients {
            let mut reached = 0;
            for node in nodes.clone() {
                let link = (client, node);
                let linked = !self.cut.contains(&link) && !self.mute.contains(&link);
                let stands = self.rig.paused[self.rig.place(node)?];
                reached += usize::from(linked && !stands && !self.rig.is_down(node));
            }
            if !self.state(client)?.crashed && reached >= self.quorum() {
                able = able.or(Some((client, reached)));
            }
        }
        let mut sight = self.nobody_can_acquire().await?;
        match able {
            None => {
                sight.seen = false;
                let why = "no client that lives reaches a majority of the nodes";
                sight.evidence.push(why.into());
            }
            Some((client, reached)) => sight.evidence.push(format!(
                "nothing was repaired; {client} reaches {reached} of {} nodes",
                nodes.len(),
                client = words::client(client)
            )),
        }
        Ok(sight)
    }

    /// A client that has come to rest has left something.
    pub(super) async fn left_at_once(&mut self) -> Result<Sight, Stop> {
        let contents = self.contents().await?;
        let mut found = Vec::new();
        for client in 0..self.trace.setup.clients {
            let threads = |view: &lockproof_lab::client::protocol::View| view.threads.len();
            let state = self.state(client)?;
            let rests = !state.crashed
                && state.phase() == "idle"
                && state.view.as_ref().map_or(0, threads) == 0;
            if !rests || self.is_pending(client) {
                continue;
            }
            for (node, content) in contents.iter().enumerate() {
                for (key, entry) in content {
                    let counts = self.role(key) != lockproof_model::lock::Role::Fence;
                    if counts && entry.is_of(client) {
                        found.push(format!(
                            "{client} is idle, nothing of it is on its way, and `{}` on \
                             {node} is of its writing",
                            shown(key),
                            client = words::client(client),
                            node = words::node(node as u8)
                        ));
                    }
                }
            }
        }
        Ok(Sight::of(
            "a key whose writer is idle and has nothing on its way",
            found,
        ))
    }
}
