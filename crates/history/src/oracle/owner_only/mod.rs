//! Owner-only release: nobody removes, or changes the expiry of, an entry that
//! belongs to another client which surely holds.
//!
//! Whose an entry is follows from commands, seen by those who sent them (each has
//! an interval) or by one who watched a server (each has one time). SET NX that
//! answered OK and SETNX that answered 1 are *claims* outright. A script, GETSET,
//! HSET and whatever else may make an entry is one only if the acquire that sent
//! it succeeds; all that an acquire sent of that kind to a key is one claim. A
//! script counts as a removal if it answered 1 to a client that was releasing:
//! one that compared owners would have answered 0.
//!
//! A removal is judged by the claims that may have been the last before it, which
//! is whatever no other claim surely followed (`claims`). It is a violation if all
//! of them are of others who surely held from before it until after it; then it
//! is one in every order of what overlapped. It is a possible one if that is so
//! in some possible world, and in every order. A claim of its own
//! client among them excuses it always, and that is why a lock that compares
//! owners is never accused: it removes nothing that it has not claimed, and a
//! claim that was answered or may have been is among them. Two removals of which
//! one was surely wrong, and nobody can say which, are no finding.
//!
//! A removal waits until what was open at its end has ended: commands that may
//! have claimed, and the acquires of those who did. A command that was given up
//! counts as ended; it may have claimed at any time later, until its late reply
//! says otherwise. A removal without a reply is none.
//!
//! A server that was restarted or replaced may come back with entries that were
//! gone, and two may answer under one name for a while. So after a fault of that
//! kind an entry may be anybody's until the next claim, as it may be before the
//! first.
//!
//! Rejected: looking at the order of replies as if it were the order of
//! execution. It accuses one who releases while the next owner's reply overtakes
//! its own. Tests compare this with a checker that tries all orders.

mod claims;
mod command;
mod holders;
mod place;
mod removal;

use rustc_hash::FxHashMap;

use crate::record::{Command, F, Rare, Record};
use crate::seen::{Completion, Op, Seen, is_vague};
use crate::{Finding, Header, Kind, Process};

use super::Oracle;
use super::clients::{KeyNames, Which};
use super::tally::Tally;
use claims::{Claim, Standing};
use command::{Effect, Intent, effect, intent};
use holders::{Holders, Holding};
use place::KeyClaims;
use removal::{Done, Removal, Verdict};

pub(super) const NAME: &str = "owner-only-release";

/// Faults after which a server may hold what it held before, or be another one:
/// those whose names contain these words.
const SHAKING: [&str; 3] = ["failover", "restart", "power"];

/// An acquire that ended at this very time: commands of this time may be its.
struct Ending {
    key: usize,
    kind: Kind,
    line: u64,
    time: u64,
}

/// A command on its way.
struct Sent {
    place: usize,
    client: u32,
    intent: Intent,
    from: u64,
    /// The line of its client's acquire, if that was open when it was sent.
    acquiring: Option<u64>,
    given_up: bool,
}

pub(super) struct OwnerOnly {
    tally: Tally,
    observed: bool,
    /// An acquire that succeeded put its entry on this one server.
    one_node: bool,
    holders: Holders,
    names: KeyNames,
    now: u64,
    ending: Vec<(u32, Ending)>,
    places: Vec<KeyClaims>,
    /// Places by server and key.
    keys: FxHashMap<u32, FxHashMap<Box<str>, usize>>,
    sent: FxHashMap<u64, Sent>,
    /// Where a client's open acquire has claims that it decides about, and whether
    /// it has another there that is certain already.
    pending: FxHashMap<u32, Vec<(usize, bool)>>,
    /// Places with removals whose reply was read and that wait.
    waiting: Vec<usize>,
    /// How many shaking faults are in force, and when the last one ended.
    shaking: u32,
    shaken: Option<u64>,
}

impl OwnerOnly {
    pub(super) fn new(header: &Header) -> OwnerOnly {
        OwnerOnly {
            tally: Tally::default(),
            observed: false,
            one_node: header.nodes <= 1,
            holders: Holders::new(header),
            names: KeyNames::default(),
            now: 0,
            ending: Vec::new(),
            places: Vec::new(),
            keys: FxHashMap::default(),
            sent: FxHashMap::default(),
            pending: FxHashMap::default(),
            waiting: Vec::new(),
            shaking: 0,
            shaken: None,
        }
    }

    fn place(&mut self, node: u32, key: &str) -> usize {
        let keys = self.keys.entry(node).or_default();
        if let Some(place) = keys.get(key) {
            return *place;
        }
        self.places.push(KeyClaims::new(key));
        keys.insert(key.into(), self.places.len() - 1);
        self.places.len() - 1
    }

    fn begin_removal(&mut self, place: usize, id: Option<u64>, client: u32, what: (Intent, u64)) {
        let (intent, from) = what;
        let place = &mut self.places[place];
        let claims = place.candidates();
        place.removals.push(Removal {
            id,
            client,
            removed: intent == Intent::Remove,
            from,
            done: None,
            claims,
        });
    }

    fn command_sent(&mut self, op: &Op, node: u32, command: &Command) {
        self.observed = true;
        let (Some(id), Some(client), Some(argv)) = (command.id, op.details.client, &command.argv)
        else {
            return;
        };
        let Some((key, intent)) = intent(argv, self.holders.doing(client)) else {
            return;
        };
        let place = self.place(node, key);
        let sent = Sent {
            place,
            client,
            intent,
            from: op.invoked,
            acquiring: self.holders.acquiring(client),
            given_up: false,
        };
        self.sent.insert(id, sent);
        match intent {
            Intent::Claim => {
                self.places[place].sent(client, id, op.invoked);
                self.note_holders(place);
            }
            _ => self.begin_removal(place, Some(id), client, (intent, op.invoked)),
        }
    }

    fn command_ended(&mut self, command: &Command, end: &Completion<'_>) {
        let (Some(id), Some(argv)) = (command.id, &command.argv) else {
            return;
        };
        if end.kind == Kind::Info {
            return self.give_up(id);
        }
        let Some(sent) = self.sent.remove(&id) else {
            return;
        };
        let said = end.details.command();
        let reply = said.and_then(|said| said.reply.as_ref());
        let effect = match end.kind {
            Kind::Ok => effect(argv, sent.intent, reply),
            _ => Effect::Nothing,
        };
        if sent.intent == Intent::Claim {
            self.claim_ended(id, &sent, effect, end.time);
        } else if !sent.given_up {
            self.removal_ended(sent.place, Some(id), effect, (end.time, end.line));
        }
    }

    fn give_up(&mut self, id: u64) {
        let Some(sent) = self.sent.get_mut(&id) else {
            return;
        };
        sent.given_up = true;
        let place = &mut self.places[sent.place];
        match sent.intent {
            Intent::Claim => place.give_up(id, sent.client, sent.from),
            _ => place.removals.retain(|removal| removal.id != Some(id)),
        }
    }

    fn claim_ended(&mut self, id: u64, sent: &Sent, effect: Effect, now: u64) {
        let standing = self.standing(sent.place, sent.client, sent.acquiring, effect);
        let place = &mut self.places[sent.place];
        if !sent.given_up {
            return place.resolve(id, standing.map(|standing| (now, standing)), now);
        }
        let late = Claim {
            client: sent.client,
            from: sent.from,
            to: now,
            // Its acquire may have been told otherwise meanwhile.
            standing: match standing {
                Some(Standing::Certain) => Standing::Certain,
                _ => Standing::Possible,
            },
        };
        place.answer_late(id, late, standing.is_some(), now);
    }

    /// What a claim is worth that a command made; `None` if it made none.
    fn standing(
        &mut self,
        place: usize,
        client: u32,
        acquiring: Option<u64>,
        effect: Effect,
    ) -> Option<Standing> {
        let certain = effect == Effect::Claimed;
        // Sent in an acquire that has ended: it comes too late to be decided by it.
        let acquiring = acquiring.is_some() && acquiring == self.holders.acquiring(client);
        if effect != Effect::Nothing && acquiring {
            let places = self.pending.entry(client).or_default();
            match places.iter_mut().find(|(other, _)| *other == place) {
                Some((_, outright)) => *outright |= certain,
                None => places.push((place, certain)),
            }
        }
        match effect {
            Effect::Claimed => Some(Standing::Certain),
            Effect::PerhapsClaimed if acquiring => Some(Standing::Pending),
            Effect::PerhapsClaimed => Some(Standing::Possible),
            Effect::Changed | Effect::Nothing => None,
        }
    }

    fn removal_ended(
        &mut self,
        place: usize,
        id: Option<u64>,
        effect: Effect,
        (time, line): (u64, u64),
    ) {
        let shaken = match self.shaking {
            0 => self.shaken,
            _ => Some(u64::MAX),
        };
        let at = place;
        let place = &mut self.places[at];
        let open = |removal: &Removal| removal.id == id && removal.done.is_none();
        let Some(index) = place.removals.iter().position(open) else {
            return;
        };
        if effect != Effect::Changed {
            place.removals.swap_remove(index);
            return;
        }
        self.tally.checked += 1;
        let removal = &mut place.removals[index];
        if removal.is_excused() {
            place.removals.swap_remove(index);
            return;
        }
        removal.done = Some(Done {
            time,
            line,
            shaken,
            holdings: Vec::new(),
        });
        self.waiting.push(at);
        self.note_holders(at);
    }

    /// How all stand to the removals here that have made claims, as far as that is
    /// not noted yet.
    fn note_holders(&mut self, at: usize) {
        let place = &mut self.places[at];
        if place.removals.is_empty() {
            return;
        }
        let which = self.names.stored(&place.name);
        let vague = is_vague(&place.name);
        for removal in &mut place.removals {
            removal.note_holders(|client, span| {
                match self.holders.holding(client, which, span) {
                    // Entries that look alike may be different ones.
                    Holding::Surely(line) if vague => Holding::Past(line),
                    holding => holding,
                }
            });
        }
    }

    /// A command that somebody saw a server execute.
    fn executed(&mut self, record: &Record, node: u32, command: &Command) {
        self.observed = true;
        let (Some(client), Some(argv)) = (record.details.client, &command.argv) else {
            return;
        };
        let Some((key, intent)) = intent(argv, self.holders.doing(client)) else {
            return;
        };
        let (now, place) = (record.time, self.place(node, key));
        let effect = effect(argv, intent, command.reply.as_ref());
        if intent != Intent::Claim {
            self.begin_removal(place, None, client, (intent, now));
            return self.removal_ended(place, None, effect, (now, record.line));
        }
        // An id that no command has: such a claim is open for no time.
        let acquiring = self.holders.acquiring(client);
        if let Some(standing) = self.standing(place, client, acquiring, effect) {
            const SEEN: u64 = u64::MAX;
            self.places[place].sent(client, SEEN, now);
            self.note_holders(place);
            self.places[place].resolve(SEEN, Some((now, standing)), now);
        }
    }

    fn invoked(&mut self, op: &Op, client: u32) {
        self.names.see(op);
        if matches!(op.f, F::Acquire | F::Release)
            && let Some(at) = self.ending.iter().position(|(other, _)| *other == client)
        {
            let (_, ending) = self.ending.remove(at);
            self.settle(client, &ending);
        }
        if self.holders.invoked(op, client) {
            self.let_go(client, Which::One(op.key), op.invoked);
        }
    }

    fn acquired(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        self.holders.acquired(op, client, end);
        let ending = Ending {
            key: op.key,
            kind: end.kind,
            line: op.line,
            time: end.time,
        };
        self.ending.push((client, ending));
    }

    /// What the client's acquire did is decided now: time has moved on since it
    /// ended, or the client does something else.
    fn settle(&mut self, client: u32, ending: &Ending) {
        self.holders.settled(client, ending.line);
        for (place, outright) in self.pending.remove(&client).unwrap_or_default() {
            let place = &mut self.places[place];
            let Some(mut whole) = place.pending(client) else {
                continue;
            };
            whole.standing = match ending.kind {
                Kind::Ok if self.one_node && !outright => Standing::Certain,
                Kind::Fail => Standing::Own,
                _ => Standing::Possible,
            };
            place.settle(whole, ending.time);
        }
        let now = match ending.kind {
            Kind::Info => Holding::Perhaps,
            _ => Holding::No,
        };
        self.update(client, Which::One(ending.key), |_, old| match old {
            Holding::Acquiring => now,
            old => old,
        });
    }

    fn settle_all(&mut self) {
        let mut all = std::mem::take(&mut self.ending);
        for (client, ending) in all.drain(..) {
            self.settle(client, &ending);
        }
        // Empty, and its memory is used again.
        self.ending = all;
    }

    /// What waiting removals of entries for this key know of a client's holding
    /// may have become another.
    fn update(
        &mut self,
        client: u32,
        of: Which,
        now: impl Fn((&Holders, Which, &Removal), Holding) -> Holding,
    ) {
        for place in &self.waiting {
            let place = &mut self.places[*place];
            let which = self.names.stored(&place.name);
            if of.may_be(which) {
                for removal in &mut place.removals {
                    removal.update(client, |removal, old| {
                        now((&self.holders, which, removal), old)
                    });
                }
            }
        }
    }

    /// The client holds no longer: a removal that ended only now came after that,
    /// if one likes.
    fn let_go(&mut self, client: u32, of: Which, time: u64) {
        self.update(client, of, |(holders, which, removal), old| {
            let done = removal.done.as_ref().filter(|done| done.time >= time);
            let span = done.map(|done| (removal.from, done.time));
            span.map_or(old, |span| holders.holding(client, which, span).min(old))
        });
    }

    /// Judges the removals that wait for nothing any more; `now` is not over yet.
    fn judge(&mut self, now: u64) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable();
        waiting.dedup();
        waiting.retain(|place| {
            let removals = &mut self.places[*place].removals;
            let mut still = 0;
            let judged: Vec<(Removal, Verdict)> = removals
                .extract_if(.., |removal| {
                    let over = removal.done.as_ref().is_some_and(|done| done.time < now);
                    let keep = !over || removal.verdict() == Verdict::Wait;
                    still += usize::from(keep && removal.done.is_some());
                    !keep
                })
                .map(|removal| {
                    let verdict = removal.verdict();
                    (removal, verdict)
                })
                .collect();
            for (removal, verdict) in judged {
                tell(&mut self.tally, &removal, &verdict);
            }
            still > 0
        });
        self.waiting = waiting;
    }

    fn fault(&mut self, rare: &Rare, now: u64) {
        let (Some(fault), Some(phase)) = (&rare.fault, &rare.phase) else {
            return;
        };
        // Clients were led to another primary, which had been one for a while.
        if fault == "primary" && phase == "followed" {
            self.shaken = Some(now);
        }
        if !SHAKING.iter().any(|word| fault.contains(word)) {
            return;
        }
        match phase.as_str() {
            "start" => self.shaking += 1,
            "end" => {
                self.shaking = self.shaking.saturating_sub(1);
                self.shaken = Some(now);
            }
            _ => {}
        }
    }

    fn noted(&mut self, record: &Record) {
        match (record.process, record.details.command()) {
            (Process::Node(node), Some(command)) if record.f == F::Execute => {
                self.executed(record, node, command);
            }
            (Process::Nemesis, _) => {
                if let Some(rare) = record.details.rare() {
                    self.fault(rare, record.time);
                }
            }
            _ => {}
        }
    }
}

fn tell(tally: &mut Tally, removal: &Removal, verdict: &Verdict) {
    let Some(done) = &removal.done else { return };
    let client = removal.client;
    let what = match removal.removed {
        true => "removed",
        false => "changed the expiry of",
    };
    match *verdict {
        Verdict::Sure(owner, line) => tally.sure(done.time, &[done.line, line], || {
            format!("client {client} {what} client {owner}'s entry, which holds (line {line})")
        }),
        Verdict::Possible(owner, Some(line)) => {
            tally.possible(done.time, &[done.line, line], || {
                format!(
                    "client {client} {what} an entry that may be client {owner}'s (line {line})"
                )
            });
        }
        Verdict::Possible(owner, None) => tally.possible(done.time, &[done.line], || {
            format!("client {client} {what} an entry of client {owner}, which may have acquired it")
        }),
        Verdict::Fine | Verdict::Wait => {}
    }
}

impl Oracle for OwnerOnly {
    fn see(&mut self, seen: &Seen<'_>) {
        if seen.time() > self.now {
            self.now = seen.time();
            self.settle_all();
        }
        if !self.waiting.is_empty() {
            self.judge(seen.time());
        }
        if let Some((client, key)) = seen.gone() {
            let which = key.map_or(Which::Any, Which::One);
            self.holders.let_go(client, which);
            self.let_go(client, which, seen.time());
        }
        if let Some(client) = seen.death() {
            self.sent.retain(|_, sent| sent.client != client);
            self.places.iter_mut().for_each(|place| place.crash(client));
        }
        match seen {
            Seen::Invoked(op) => {
                if let Some((node, command)) = op.command() {
                    self.command_sent(op, node, command);
                } else if let Some(client) = op.client() {
                    self.invoked(op, client);
                }
            }
            Seen::Ended(op, end) => {
                if let Some((_, command)) = op.command() {
                    self.command_ended(command, end);
                } else if let Some(client) = op.client().filter(|_| op.f == F::Acquire) {
                    self.acquired(op, client, end);
                }
            }
            Seen::Noted(record) => self.noted(record),
            Seen::Lost(..) => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        self.settle_all();
        self.judge(u64::MAX);
        let nothing = match self.observed {
            true => "no command was seen to remove an entry or to change its expiry",
            false => "nobody observed what the servers executed (`execute`)",
        };
        self.tally.finish(NAME, examples, nothing)
    }
}
