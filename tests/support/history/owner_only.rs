//! Owner-only release, slowly: every reading of what nobody knows, and in each
//! every order of what overlapped.

use std::collections::BTreeSet;

/// What a generated client does; times are ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Did {
    Acquire,
    Granted(Option<u64>),
    Refused,
    NobodyKnows,
    Release,
    Released,
    Lost,
    Crash,
    Send(u64, What),
    Reply(u64, bool),
    NotExecuted(u64),
    GiveUp(u64),
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    Setnx,
    Set,
    Eval,
    Del,
    Pexpire,
}

#[derive(Clone, Copy, Debug)]
pub struct Act {
    pub time: u64,
    pub client: usize,
    pub did: Did,
}

/// A draw: how much later, by whom, and two numbers that decide what is done.
pub type Draw = (u64, usize, u8, u8);

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Idle,
    Acquiring,
    Holding,
    Releasing,
}

#[derive(Clone)]
struct Client {
    phase: Phase,
    /// Its acquire has sent a claim already.
    asked: bool,
    open: Option<u64>,
    given_up: Vec<u64>,
}

/// Turns random numbers into a history that clients could have. With a coarse
/// clock many things have one time; but not a death, nor a reply that comes late,
/// and anything before it.
pub fn acts(draws: &[Draw], coarse: bool) -> Vec<Act> {
    let nobody = Client {
        phase: Phase::Idle,
        asked: false,
        open: None,
        given_up: Vec::new(),
    };
    let mut clients = vec![nobody; 3];
    let (mut time, mut ids, mut acts) = (0, 0, Vec::new());
    for (step, client, choice, more) in draws {
        time += step + u64::from(!coarse);
        let given_up = clients[*client].given_up.clone();
        let did = clients[*client].next(*choice, *more, &mut ids);
        let client = *client;
        let late = matches!(did, Did::Reply(id, _) if given_up.contains(&id));
        time += u64::from(late || did == Did::Crash);
        acts.push(Act { time, client, did });
        time += u64::from(did == Did::Crash);
    }
    acts
}

impl Client {
    fn next(&mut self, choice: u8, more: u8, ids: &mut u64) -> Did {
        let yes = more.is_multiple_of(2);
        if choice == 0 {
            (self.phase, self.asked, self.open) = (Phase::Idle, false, None);
            self.given_up.clear();
            return Did::Crash;
        }
        if choice == 1
            && let Some(id) = self.given_up.pop()
        {
            return Did::Reply(id, yes);
        }
        if let Some(id) = self.open
            && choice < 12
        {
            self.open = None;
            if choice < 4 {
                self.given_up.push(id);
                return Did::GiveUp(id);
            }
            return match choice {
                4 => Did::NotExecuted(id),
                _ => Did::Reply(id, choice > 5),
            };
        }
        if self.open.is_none() && (choice > 5 || more > 10) {
            let what = match (self.phase, more % 4) {
                (Phase::Acquiring, _) if self.asked => None,
                (Phase::Acquiring, 0..=2) => Some(What::Setnx),
                (Phase::Acquiring, _) => Some(What::Eval),
                (Phase::Holding, 0) => Some(What::Pexpire),
                (Phase::Holding, 1) => Some(What::Set),
                (Phase::Releasing, 0 | 1) => Some(What::Del),
                (Phase::Releasing, 2) => Some(What::Eval),
                _ => None,
            };
            if let Some(what) = what {
                *ids += 1;
                (self.open, self.asked) = (Some(*ids), true);
                return Did::Send(*ids, what);
            }
        }
        self.step(choice, more)
    }

    fn step(&mut self, choice: u8, more: u8) -> Did {
        let (did, next) = match (self.phase, choice) {
            (Phase::Idle, _) => (Did::Acquire, Phase::Acquiring),
            (Phase::Acquiring, 2) => (Did::Refused, Phase::Idle),
            (Phase::Acquiring, 3) => (Did::NobodyKnows, Phase::Idle),
            (Phase::Acquiring, _) => {
                let validity = (more < 5).then_some(u64::from(more) * 8);
                (Did::Granted(validity), Phase::Holding)
            }
            (Phase::Holding, 2) => (Did::Lost, Phase::Idle),
            (Phase::Holding, _) => (Did::Release, Phase::Releasing),
            (Phase::Releasing, _) => (Did::Released, Phase::Idle),
        };
        if did == Did::Acquire {
            self.asked = false;
        }
        self.phase = next;
        did
    }
}

/// As lines for `history_support::history`.
pub fn events(acts: &[Act]) -> String {
    let mut events = String::new();
    for Act { time, client, did } in acts {
        let line = match did {
            Did::Acquire => format!("{time} {client} invoke acquire"),
            Did::Granted(None) => format!("{time} {client} ok acquire"),
            Did::Granted(Some(ms)) => {
                format!("{time} {client} ok acquire {{\"validity_ms\":{ms}}}")
            }
            Did::Refused => format!("{time} {client} fail acquire"),
            Did::NobodyKnows => format!("{time} {client} info acquire"),
            Did::Release => format!("{time} {client} invoke release"),
            Did::Released => format!("{time} {client} ok release"),
            Did::Lost => format!("{time} {client} info lost"),
            Did::Crash => format!("{time} nemesis info crash {{\"client\":{client}}}"),
            Did::Send(id, what) => format!(
                "{time} node-0 invoke execute {{\"client\":{client},\"id\":{id},\"argv\":{}}}",
                match what {
                    What::Setnx => r#"["SETNX","k","1"]"#,
                    What::Set => r#"["SET","k","1"]"#,
                    What::Eval => r#"["EVAL","sha1:00","1","k"]"#,
                    What::Del => r#"["DEL","k"]"#,
                    What::Pexpire => r#"["PEXPIRE","k","100"]"#,
                }
            ),
            Did::Reply(id, yes) => {
                let sent = acts.iter().find_map(|act| match act.did {
                    Did::Send(other, what) if other == *id => Some(what),
                    _ => None,
                });
                let reply = match (sent, yes) {
                    (Some(What::Set), true) => r#"{"status":"OK"}"#,
                    (Some(What::Set), false) => r#"{"error":"ERR"}"#,
                    (_, true) => r#"{"int":1}"#,
                    (_, false) => "0",
                };
                format!(
                    "{time} node-0 ok execute {{\"client\":{client},\"id\":{id},\"reply\":{reply}}}"
                )
            }
            Did::NotExecuted(id) => {
                format!("{time} node-0 fail execute {{\"client\":{client},\"id\":{id}}}")
            }
            Did::GiveUp(id) => {
                format!("{time} node-0 info execute {{\"client\":{client},\"id\":{id}}}")
            }
        };
        events += &line;
        events.push('\n');
    }
    events
}

const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Claim {
    client: usize,
    from: u64,
    to: u64,
    certain: bool,
    /// Counts only for its client's own removals.
    own: bool,
}

/// A command with all that the history says of it.
struct Command {
    client: usize,
    what: What,
    from: u64,
    /// When it was given up, or its client died.
    given_up: Option<u64>,
    reply: Option<(u64, bool)>,
    failed: bool,
    /// The acquire or release that was open, if one was: its kind, its end and
    /// the time of that.
    within: Option<(Did, Option<Act>)>,
    /// Which of all that was done that is.
    begun: Option<usize>,
}

fn commands(acts: &[Act]) -> Vec<Command> {
    let mut all = Vec::new();
    for (index, act) in acts.iter().enumerate() {
        let Did::Send(id, what) = act.did else {
            continue;
        };
        let own = || acts.iter().filter(|other| other.client == act.client);
        let crash = own().find(|other| other.time >= act.time && other.did == Did::Crash);
        let mut given_up = crash.map(|crash| crash.time);
        let (mut reply, mut failed) = (None, false);
        for other in &acts[index..] {
            match other.did {
                Did::GiveUp(other_id) if other_id == id => given_up = Some(other.time),
                Did::Reply(other_id, yes) if other_id == id => reply = Some((other.time, yes)),
                Did::NotExecuted(other_id) if other_id == id => failed = true,
                _ => {}
            }
        }
        if let Some((at, _)) = reply
            && given_up.is_some_and(|given_up| given_up > at)
        {
            given_up = None;
        }
        let frame = |did: &Did| matches!(did, Did::Acquire | Did::Release);
        // Of two operations that touch at its time it belongs to the later one.
        let numbered = || acts.iter().enumerate();
        let of_client = |(_, other): &(usize, &Act)| other.client == act.client;
        let before = numbered()
            .filter(of_client)
            .rfind(|(_, other)| other.time <= act.time && frame(&other.did));
        let begun = before.map(|(begun, _)| begun);
        let within = before.and_then(|(begun, before)| {
            let ends = |did: Did| {
                matches!(
                    did,
                    Did::Granted(_) | Did::Refused | Did::NobodyKnows | Did::Released | Did::Crash
                )
            };
            let end = numbered().filter(of_client).map(|(at, other)| (at, *other));
            let mut end = end.filter(|(at, other)| *at > begun && ends(other.did));
            let end = end.next().map(|(_, end)| end);
            (end.is_none_or(|end| end.time >= act.time)).then_some((before.did, end))
        });
        all.push(Command {
            client: act.client,
            what,
            from: act.time,
            given_up,
            reply,
            failed,
            within,
            begun,
        });
    }
    all
}

impl Command {
    fn is_removal(&self) -> bool {
        match self.what {
            What::Del | What::Pexpire => true,
            What::Eval => matches!(self.within, Some((Did::Release, _))),
            What::Setnx | What::Set => false,
        }
    }

    /// What it claimed, as a removal that was sent at `asked` may know it.
    fn claim(&self, asked: u64) -> Option<Claim> {
        if self.is_removal() || self.failed {
            return None;
        }
        let claim = |to, certain, own| {
            let (client, from) = (self.client, self.from);
            Some(Claim {
                client,
                from,
                to,
                certain,
                own,
            })
        };
        let late = self.given_up.is_some();
        let (at, yes) = match self.reply {
            Some((at, yes)) if !late || at <= asked => (at, yes),
            _ => return claim(NEVER, false, false),
        };
        match (self.what, yes) {
            (What::Setnx, true) => claim(at, true, false),
            (What::Setnx | What::Set, false) => None,
            _ => match self.within {
                _ if late => claim(at, false, false),
                Some((Did::Acquire, Some(end))) if end.time >= at => match end.did {
                    Did::Granted(_) => claim(at, true, false),
                    Did::Refused => claim(at, false, true),
                    _ => claim(at, false, false),
                },
                Some((Did::Acquire, None)) => claim(at, false, false),
                _ => claim(at, false, false),
            },
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Surely,
    Perhaps,
    No,
}

/// Does the client hold from before `from` until after `to`?
fn holds(acts: &[Act], client: usize, (from, to): (u64, u64)) -> Holds {
    let own: Vec<&Act> = acts.iter().filter(|act| act.client == client).collect();
    let asked = own
        .iter()
        .rposition(|act| act.time < from && act.did == Did::Acquire);
    let Some(place) = asked else {
        return Holds::No;
    };
    let asked = own[place];
    let after = || own[place + 1..].iter();
    let end = after().find(|act| {
        matches!(
            act.did,
            Did::Granted(_) | Did::Refused | Did::NobodyKnows | Did::Crash
        )
    });
    let over = after().any(|act| {
        let ends = matches!(
            act.did,
            Did::Acquire | Did::Release | Did::Lost | Did::Crash
        );
        ends && act.time <= to
    });
    match end.map(|end| (end.time, end.did)) {
        _ if over => Holds::No,
        Some((_, Did::Refused)) => Holds::No,
        Some((at, Did::Granted(_))) if at >= from => Holds::No,
        Some((_, Did::Granted(Some(ms)))) if to >= asked.time + ms => Holds::Perhaps,
        Some((_, Did::Granted(_))) => Holds::Surely,
        _ => Holds::Perhaps,
    }
}

/// Who can have made the last claim before a removal: all orders, one by one. None
/// of them, if it may have been the first of all.
fn lasts(claims: &[Claim], from: u64) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::from([(0u32, usize::MAX)]);
    let mut todo = vec![(0u32, usize::MAX)];
    while let Some((placed, last)) = todo.pop() {
        let open = |index: &usize| placed & (1 << index) == 0;
        let before = |time: u64| {
            (0..claims.len())
                .filter(open)
                .any(|at| claims[at].to < time)
        };
        if !before(from) {
            found.insert(last);
        }
        for next in (0..claims.len()).filter(open) {
            if !before(claims[next].from) {
                let state = (placed | (1 << next), next);
                if seen.insert(state) {
                    todo.push(state);
                }
            }
        }
    }
    found
}

/// How many removals there were, how many of them are violations in every
/// reading and order, and how many in every order of some reading; `None` if
/// there is too much to try.
pub fn slow(acts: &[Act]) -> Option<(u64, u64, u64)> {
    let commands = commands(acts);
    // What one acquire sent of that kind is one claim, which is not tried here: with
    // a coarse clock it may be more than one command.
    let claims = commands.iter().filter(|it| !it.is_removal());
    let mut begun: Vec<usize> = claims.filter_map(|it| it.begun).collect();
    begun.sort_unstable();
    if begun.windows(2).any(|two| two[0] == two[1]) {
        return None;
    }
    let (mut checked, mut sure, mut possible) = (0, 0, 0);
    for removal in commands.iter().filter(|command| command.is_removal()) {
        let Some((to, true)) = removal.reply.filter(|_| removal.given_up.is_none()) else {
            continue;
        };
        checked += 1;
        let from = removal.from;
        let claims = commands.iter().filter(|command| command.from <= to);
        let claims: Vec<Claim> = claims
            .filter_map(|command| command.claim(from))
            .filter(|claim| !claim.own || claim.client == removal.client)
            .collect();
        let vague: Vec<usize> = (0..claims.len())
            .filter(|at| !claims[*at].certain)
            .collect();
        if claims.len() > 14 || vague.len() > 7 {
            return None;
        }
        let holds: Vec<Holds> = (0..3).map(|other| holds(acts, other, (from, to))).collect();
        let (mut excused, mut some, mut every) = (false, false, true);
        for reading in 0..1u32 << vague.len() {
            let absent = |at: &usize| {
                let place = vague.iter().position(|other| other == at);
                place.is_some_and(|place| reading & (1 << place) == 0)
            };
            let there: Vec<Claim> = (0..claims.len())
                .filter(|at| !absent(at))
                .map(|at| claims[at])
                .collect();
            let last = lasts(&there, from);
            let all = |holding: &dyn Fn(usize) -> bool| {
                last.iter().all(|at| {
                    // An entry that nobody was seen to claim is nobody's.
                    let owner = there.get(*at).map(|claim| claim.client);
                    owner.is_some_and(|owner| owner != removal.client && holding(owner))
                })
            };
            let own = |at: &usize| there.get(*at).is_some_and(|it| it.client == removal.client);
            excused |= last.iter().any(own);
            every &= all(&|owner| holds[owner] == Holds::Surely);
            some |= all(&|owner| holds[owner] != Holds::No);
        }
        sure += u64::from(every && !excused);
        possible += u64::from(some && !every && !excused);
    }
    Some((checked, sure, possible))
}
