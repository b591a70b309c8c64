//! One row a client: attempts, holds and validities.

use std::collections::BTreeMap;

use super::{CLIENTS_MAX, Detail, MARKS_MAX, SLICES};
use crate::{Event, Kind, Process};

/// A client's row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientRow {
    /// Its process number.
    pub client: u32,
    /// Acquires that succeeded, that surely did not, and those nobody knows of.
    pub acquired: u64,
    pub refused: u64,
    pub unknown: u64,
    /// What was kept one by one, in the order in which it ended.
    pub marks: Vec<Mark>,
    /// Where marks were not kept: shares of the slices, by slice.
    pub shares: BTreeMap<u64, Share>,
}

/// Something that lasted, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub from: u64,
    pub to: u64,
    pub kind: MarkKind,
}

/// What lasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// An acquire from its call to its end.
    Attempt,
    /// The client believed that it held.
    Held,
    /// Nobody knows whether it held.
    PerhapsHeld,
    /// The validity that the client was told, counted from its call, while it held.
    Valid,
    /// The client's own process did not run.
    Stall,
    /// The client died; a moment.
    Crash,
}

/// Which parts of a slice were spent how; up to 1 each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Attempting to acquire.
    pub attempt: f32,
    /// Holding, surely or perhaps.
    pub held: f32,
}

/// All rows while the history goes by.
pub(super) struct Rows {
    slice_ns: u64,
    reentrant: bool,
    detail: Detail,
    marks: u64,
    rows: BTreeMap<u32, Row>,
    /// Clients beyond the bound, seen but not followed.
    hidden: std::collections::BTreeSet<u32>,
    /// When the last mark that there was room for ended.
    full_at: Option<u64>,
}

#[derive(Default)]
struct Row {
    seen: ClientRow,
    /// What the client is doing: its operation and since when.
    open: Option<(String, u64)>,
    hold: Option<Hold>,
}

#[derive(Clone, Copy)]
struct Hold {
    since: u64,
    depth: u32,
    sure: bool,
    /// From the call, until the validity is over.
    valid: Option<(u64, u64)>,
}

/// The rows, done.
pub(super) struct Finished {
    pub clients: Vec<ClientRow>,
    pub hidden: u64,
    pub marks: u64,
    pub detail: Detail,
}

impl Rows {
    pub(super) fn new(slice_ns: u64, detail: Detail, reentrant: bool) -> Rows {
        Rows {
            slice_ns,
            reentrant,
            detail,
            marks: 0,
            rows: BTreeMap::new(),
            hidden: Default::default(),
            full_at: None,
        }
    }

    /// Takes an event; gives the span of an operation that it ends.
    pub(super) fn see(&mut self, event: &Event) -> Option<(u64, u64)> {
        match event.process {
            Process::Client(client) => self.client(client, event),
            Process::Nemesis if event.f == "crash" && event.value["phase"] != "end" => {
                let client = event.value["client"].as_u64()?;
                self.crash(u32::try_from(client).ok()?, event.time);
                None
            }
            _ => None,
        }
    }

    fn client(&mut self, client: u32, event: &Event) -> Option<(u64, u64)> {
        if !self.rows.contains_key(&client) && self.rows.len() >= CLIENTS_MAX {
            self.hidden.insert(client);
            return None;
        }
        let reentrant = self.reentrant;
        let row = self.rows.entry(client).or_insert_with(|| Row::new(client));
        let mut ended = Vec::new();
        let mut span = None;
        match (event.kind, event.f.as_str()) {
            (Kind::Invoke, _) => row.invoke(event, reentrant, &mut ended),
            (Kind::Info, "lost") => row.let_go(event.time, &mut ended),
            (Kind::Info, "stall") => {
                let gap_ns = event.value["gap_ms"].as_f64().unwrap_or_default() * 1e6;
                let from = event.time.saturating_sub(gap_ns.max(0.0) as u64);
                ended.push((from, event.time, MarkKind::Stall));
            }
            _ => span = row.complete(event, reentrant, &mut ended),
        }
        for (from, to, kind) in ended {
            self.keep(client, Mark { from, to, kind });
        }
        span
    }

    fn crash(&mut self, client: u32, time: u64) {
        let Some(row) = self.rows.get_mut(&client) else {
            return;
        };
        let mut ended = Vec::new();
        if let Some((f, since)) = row.open.take()
            && f == "acquire"
        {
            row.seen.unknown += 1;
            ended.push((since, time.max(since), MarkKind::Attempt));
        }
        row.let_go(time, &mut ended);
        ended.push((time, time, MarkKind::Crash));
        for (from, to, kind) in ended {
            self.keep(client, Mark { from, to, kind });
        }
    }

    /// Keeps a mark, or adds it to the shares of the slices that it touches.
    fn keep(&mut self, client: u32, mark: Mark) {
        let Some(row) = self.rows.get_mut(&client) else {
            return;
        };
        // Stalls and deaths are few, and what a reader looks for.
        let rare = matches!(mark.kind, MarkKind::Stall | MarkKind::Crash);
        let whole = self.detail == Detail::Whole;
        let room = self.marks < MARKS_MAX;
        if room && (rare || self.detail.covers(mark.from, mark.to)) {
            self.marks += 1;
            row.seen.marks.push(mark);
        } else if !room {
            self.full_at.get_or_insert(mark.from);
        }
        if !whole || !room {
            row.share(mark, self.slice_ns);
        }
    }

    pub(super) fn finish(mut self, end: u64) -> Finished {
        let clients: Vec<u32> = self.rows.keys().copied().collect();
        for client in clients {
            let mut ended = Vec::new();
            if let Some(row) = self.rows.get_mut(&client) {
                if let Some((f, since)) = row.open.take()
                    && f == "acquire"
                {
                    row.seen.unknown += 1;
                    ended.push((since, end.max(since), MarkKind::Attempt));
                }
                row.let_go(end, &mut ended);
            }
            for (from, to, kind) in ended {
                self.keep(client, Mark { from, to, kind });
            }
        }
        self.cut_detail(end);
        let slice_ns = self.slice_ns;
        let detail = self.detail;
        let strip = |mut row: Row| {
            // Where marks are complete, shares would say the same again.
            let doubled = |slice: u64| {
                let from = slice.saturating_mul(slice_ns);
                detail.covers(from, from.saturating_add(slice_ns))
            };
            row.seen.shares.retain(|slice, _| !doubled(*slice));
            row.seen
        };
        Finished {
            clients: self.rows.into_values().map(strip).collect(),
            hidden: self.hidden.len() as u64,
            marks: self.marks,
            detail: detail.clone(),
        }
    }

    /// When there was no more room, marks are complete only before that.
    fn cut_detail(&mut self, end: u64) {
        let Some(full_at) = self.full_at else { return };
        let full_at = full_at / self.slice_ns * self.slice_ns;
        let spans = match std::mem::replace(&mut self.detail, Detail::Whole) {
            Detail::Whole => vec![(0, end)],
            Detail::Around(spans) => spans,
        };
        let cut = |(from, to): (u64, u64)| (from < full_at).then(|| (from, to.min(full_at)));
        self.detail = Detail::Around(spans.into_iter().filter_map(cut).collect());
    }
}

/// From, to and what.
type Ended = Vec<(u64, u64, MarkKind)>;

impl Row {
    fn new(client: u32) -> Row {
        Row {
            seen: ClientRow {
                client,
                ..ClientRow::default()
            },
            ..Row::default()
        }
    }

    fn invoke(&mut self, event: &Event, reentrant: bool, ended: &mut Ended) {
        match event.f.as_str() {
            "release" => {
                if let Some(hold) = &mut self.hold {
                    hold.depth = hold.depth.saturating_sub(1);
                    if !reentrant || hold.depth == 0 {
                        self.let_go(event.time, ended);
                    }
                }
            }
            // Whoever asks again does not think that it holds, unless it was told so.
            "acquire" if self.hold.is_some_and(|hold| !hold.sure) => {
                self.let_go(event.time, ended);
            }
            _ => {}
        }
        self.open = Some((event.f.clone(), event.time));
    }

    fn complete(
        &mut self,
        event: &Event,
        reentrant: bool,
        ended: &mut Ended,
    ) -> Option<(u64, u64)> {
        let (_, since) = self.open.take_if(|(f, _)| *f == event.f)?;
        let to = event.time.max(since);
        if event.f != "acquire" {
            return Some((since, to));
        }
        ended.push((since, to, MarkKind::Attempt));
        match event.kind {
            Kind::Ok => {
                self.seen.acquired += 1;
                let until = |validity_ms: f64| {
                    let validity_ns = (validity_ms.max(0.0) * 1e6) as u64;
                    (since, since.saturating_add(validity_ns))
                };
                let valid = event.value["validity_ms"].as_f64().map(until);
                self.take(to, (true, valid), reentrant, ended);
            }
            Kind::Info => {
                self.seen.unknown += 1;
                self.take(since, (false, None), reentrant, ended);
            }
            Kind::Fail | Kind::Invoke => self.seen.refused += 1,
        }
        Some((since, to))
    }

    fn take(
        &mut self,
        since: u64,
        (sure, valid): (bool, Option<(u64, u64)>),
        reentrant: bool,
        ended: &mut Ended,
    ) {
        if let Some(hold) = &mut self.hold {
            // A perhaps while it holds adds nothing that could be drawn.
            if !sure {
                return;
            }
            if reentrant && hold.sure {
                hold.depth += 1;
                let until = valid.map(|(_, until)| until);
                hold.valid = hold
                    .valid
                    .map(|(from, old)| (from, until.unwrap_or(old).max(old)));
                return;
            }
        }
        self.let_go(since, ended);
        self.hold = Some(Hold {
            since,
            depth: 1,
            sure,
            valid,
        });
    }

    fn let_go(&mut self, time: u64, ended: &mut Ended) {
        let Some(hold) = self.hold.take() else { return };
        let kind = match hold.sure {
            true => MarkKind::Held,
            false => MarkKind::PerhapsHeld,
        };
        let end = time.max(hold.since);
        ended.push((hold.since, end, kind));
        if let Some((from, until)) = hold.valid {
            ended.push((from, until.min(end), MarkKind::Valid));
        }
    }

    fn share(&mut self, mark: Mark, slice_ns: u64) {
        let last = (mark.to / slice_ns).min(SLICES);
        for slice in mark.from / slice_ns..=last {
            let from = slice.saturating_mul(slice_ns);
            let to = from.saturating_add(slice_ns);
            let inside = mark.to.min(to).saturating_sub(mark.from.max(from));
            let part = inside as f32 / slice_ns as f32;
            let share = self.seen.shares.entry(slice).or_default();
            match mark.kind {
                MarkKind::Attempt => share.attempt = (share.attempt + part).min(1.0),
                MarkKind::Held | MarkKind::PerhapsHeld => {
                    share.held = (share.held + part).min(1.0);
                }
                MarkKind::Valid | MarkKind::Stall | MarkKind::Crash => {}
            }
        }
    }
}
