//! What waits in one direction of one connection.
//!
//! Pure bookkeeping: no sockets and no clock (the caller says what time it is),
//! so that the rules of a TCP stream can be tested as rules. They are: nothing
//! overtakes, and nothing follows what was lost.

use std::collections::VecDeque;

use tokio::time::Instant;

/// Names a message within its connection and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A request, or the reply to the request of that number.
    Numbered(u64),
    /// A message that the server sent unasked, by its own number.
    Push(u64),
}

impl Key {
    /// The number, of whichever kind.
    pub fn number(self) -> u64 {
        match self {
            Key::Numbered(number) | Key::Push(number) => number,
        }
    }
}

/// Why a message cannot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It does not wait here.
    NotHeld,
    /// This one is in front of it.
    Overtakes(Key),
    /// One in front of it was lost.
    AfterLoss,
}

/// A waiting message.
#[derive(Debug)]
pub(super) struct Waiting {
    pub key: Key,
    pub bytes: Vec<u8>,
    /// Not to go before this, even if nobody holds it.
    pub due: Option<Instant>,
    /// The harness was told of it.
    pub reported: bool,
    arrival: u64,
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// Pass this on.
    Pass(Waiting),
    /// Nothing until the harness decides, or until this moment.
    Wait(Option<Instant>),
}

/// The queue of one direction.
#[derive(Debug, Default)]
pub(super) struct Lane {
    queue: VecDeque<Waiting>,
    arrivals: u64,
    /// Whatever arrived from this one on cannot go any more.
    broken_from: Option<u64>,
    bytes: usize,
}

impl Lane {
    pub fn push(&mut self, key: Key, bytes: Vec<u8>, due: Option<Instant>) -> &mut Waiting {
        self.bytes += bytes.len();
        self.arrivals += 1;
        let waiting = Waiting {
            key,
            bytes,
            due,
            reported: false,
            arrival: self.arrivals,
        };
        self.queue.push_back(waiting);
        let last = self.queue.len() - 1;
        &mut self.queue[last]
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing that arrives from now on can go: something was lost.
    pub fn is_broken(&self) -> bool {
        self.broken_from.is_some()
    }

    /// What arrives next vanishes.
    pub fn break_here(&mut self) {
        self.broken_from.get_or_insert(self.arrivals + 1);
    }

    /// Nothing waits for a time any more.
    pub fn hurry(&mut self) {
        for waiting in &mut self.queue {
            waiting.due = None;
        }
    }

    /// What waits and was not reported yet.
    pub fn unreported(&mut self) -> impl Iterator<Item = &mut Waiting> {
        self.queue.iter_mut().filter(|waiting| !waiting.reported)
    }

    /// Takes out a message that the harness lets go.
    pub fn release(&mut self, key: Key) -> Result<Waiting, Refusal> {
        let place = self.place(key)?;
        if self.is_beyond_loss(&self.queue[place]) {
            return Err(Refusal::AfterLoss);
        }
        if place > 0 {
            return Err(Refusal::Overtakes(self.queue[0].key));
        }
        self.take_front().ok_or(Refusal::NotHeld)
    }

    /// Loses a message: it and all that arrived after it cannot go any more.
    pub fn lose(&mut self, key: Key) -> Result<(), Refusal> {
        let place = self.place(key)?;
        if let Some(lost) = self.queue.remove(place) {
            self.bytes -= lost.bytes.len();
            let from = self.broken_from.get_or_insert(lost.arrival);
            *from = (*from).min(lost.arrival);
        }
        Ok(())
    }

    /// Loses all that waits.
    pub fn lose_all(&mut self) {
        if !self.queue.is_empty() {
            let first = self.queue[0].arrival;
            let from = self.broken_from.get_or_insert(first);
            *from = (*from).min(first);
        }
        self.queue.clear();
        self.bytes = 0;
    }

    /// What may go at this moment, if nobody holds the lane (`held`).
    pub fn next(&mut self, held: bool, now: Instant) -> Next {
        loop {
            let Some(front) = self.queue.front() else {
                return Next::Wait(None);
            };
            if held {
                return Next::Wait(None);
            }
            if self.is_beyond_loss(front) {
                self.take_front();
                continue;
            }
            if let Some(due) = front.due.filter(|due| *due > now) {
                return Next::Wait(Some(due));
            }
            if let Some(front) = self.take_front() {
                return Next::Pass(front);
            }
        }
    }

    fn take_front(&mut self) -> Option<Waiting> {
        let front = self.queue.pop_front()?;
        self.bytes -= front.bytes.len();
        Some(front)
    }

    fn place(&self, key: Key) -> Result<usize, Refusal> {
        self.queue
            .iter()
            .position(|waiting| waiting.key == key)
            .ok_or(Refusal::NotHeld)
    }

    fn is_beyond_loss(&self, waiting: &Waiting) -> bool {
        self.broken_from.is_some_and(|from| waiting.arrival >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn lane(count: u64) -> Lane {
        let mut lane = Lane::default();
        for seq in 0..count {
            lane.push(Key::Numbered(seq), vec![seq as u8], None);
        }
        lane
    }

    fn passes(lane: &mut Lane) -> Vec<u64> {
        let mut passed = Vec::new();
        while let Next::Pass(waiting) = lane.next(false, Instant::now()) {
            passed.push(waiting.key.number());
        }
        passed
    }

    #[test]
    fn a_held_lane_passes_nothing_by_itself() {
        let mut lane = lane(2);
        assert!(matches!(lane.next(true, Instant::now()), Next::Wait(None)));
        assert_eq!(lane.release(Key::Numbered(0)).unwrap().bytes, [0]);
        assert!(matches!(lane.next(true, Instant::now()), Next::Wait(None)));
        assert_eq!(passes(&mut lane), [1]);
        assert_eq!(lane.bytes(), 0);
    }

    #[test]
    fn nothing_overtakes() {
        let mut lane = lane(2);
        let refusal = lane.release(Key::Numbered(1)).unwrap_err();
        assert_eq!(refusal, Refusal::Overtakes(Key::Numbered(0)));
        let refusal = lane.release(Key::Push(0)).unwrap_err();
        assert_eq!(refusal, Refusal::NotHeld);
    }

    #[test]
    fn nothing_follows_a_loss_but_what_came_before_it_does() {
        let mut lane = lane(3);
        lane.lose(Key::Numbered(1)).unwrap();
        let refusal = lane.release(Key::Numbered(2)).unwrap_err();
        assert_eq!(refusal, Refusal::AfterLoss);
        assert!(lane.release(Key::Numbered(0)).is_ok());
        lane.push(Key::Numbered(3), vec![3], None);
        assert_eq!(passes(&mut lane), [] as [u64; 0]);
        assert!(lane.is_empty() && lane.is_broken());
    }

    #[test]
    fn a_lane_that_breaks_now_still_passes_what_waited() {
        let mut lane = lane(1);
        lane.break_here();
        lane.push(Key::Numbered(1), vec![1], None);
        assert_eq!(passes(&mut lane), [0]);
    }

    #[test]
    fn a_delayed_message_waits_for_its_time_and_delays_those_behind() {
        let now = Instant::now();
        let due = now + Duration::from_millis(5);
        let mut lane = Lane::default();
        lane.push(Key::Numbered(0), vec![0], Some(due));
        lane.push(Key::Numbered(1), vec![1], None);
        assert!(matches!(lane.next(false, now), Next::Wait(Some(at)) if at == due));
        assert!(matches!(lane.next(false, due), Next::Pass(_)));
        assert!(matches!(lane.next(false, due), Next::Pass(_)));
    }

    #[test]
    fn losing_all_leaves_a_broken_lane() {
        let mut lane = lane(2);
        lane.lose_all();
        assert!(lane.is_empty() && lane.is_broken());
        assert_eq!(lane.bytes(), 0);
    }
}
