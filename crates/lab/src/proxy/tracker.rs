//! Which reply answers which request.
//!
//! RESP carries no ids: the n-th reply answers the n-th request. Three things
//! disturb the count and are told apart here: messages that a server sends
//! unasked (pub/sub messages, RESP3 pushes), SUBSCRIBE and its kind (one
//! confirmation for each channel), and empty requests (no reply at all).
//!
//! What changes the count beyond that is not supported: MONITOR, CLIENT REPLY
//! OFF and SKIP, and replication streams (give those links raw framing).

use std::collections::VecDeque;

use super::frame::{first_words, requests};
use super::lane::Key;

/// A request that was passed on and is not answered in full.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    seq: u64,
    /// Confirmations and replies that are still to come.
    replies: usize,
    answered: bool,
    /// It wants confirmations, not a reply.
    subscribes: bool,
    /// Replies that come as one message.
    together: usize,
    /// It is at the server when this many bytes have been written there.
    reached_at: u64,
}

/// The counters of one connection.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    requests: u64,
    pushes: u64,
    awaited: VecDeque<Awaited>,
    /// The client subscribed to something, so arrays may be messages.
    subscribed: bool,
}

impl Tracker {
    /// Numbers a request that arrived.
    pub fn number_request(&mut self) -> u64 {
        let seq = self.requests;
        self.requests += 1;
        seq
    }

    /// The request is on its way to the server.
    pub fn passed_on(&mut self, seq: u64, frame: &[u8], reached_at: u64) {
        let (name, arguments) = first_words(frame);
        let subscribes = is_subscription(name);
        self.subscribed |= subscribes;
        let replies = match arguments {
            0 => return,
            count if subscribes => (count - 1).max(1),
            _ => 1,
        };
        self.awaited.push_back(Awaited {
            seq,
            replies,
            answered: false,
            subscribes,
            together: match name.eq_ignore_ascii_case(b"multi") {
                true => requests(frame),
                false => 1,
            },
            reached_at,
        });
    }

    /// How many replies come next as one message.
    pub fn next_replies(&self) -> usize {
        self.awaited.front().map_or(1, |front| front.together)
    }

    /// Names a frame that came from the server.
    pub fn name_reply(&mut self, frame: &[u8]) -> Key {
        let push = frame.first() == Some(&b'>');
        let (word, _) = first_words(frame);
        let confirms = (push || self.subscribed) && is_subscription(word);
        let message = push || (self.subscribed && is_message(word));
        let answers = |awaited: &Awaited| match (confirms, message) {
            (true, _) => awaited.subscribes,
            (false, true) => false,
            // An error may answer anything.
            (false, false) => true,
        };
        let Some(front) = self.awaited.front_mut().filter(|front| answers(front)) else {
            let number = self.pushes;
            self.pushes += 1;
            return Key::Push(number);
        };
        let (seq, first) = (front.seq, !front.answered);
        front.answered = true;
        front.replies = if confirms { front.replies - 1 } else { 0 };
        if front.replies == 0 {
            self.awaited.pop_front();
        }
        if first {
            return Key::Numbered(seq);
        }
        let number = self.pushes;
        self.pushes += 1;
        Key::Push(number)
    }

    /// True if every request that was passed on has been answered.
    pub fn is_quiet(&self) -> bool {
        self.awaited.is_empty()
    }

    /// The requests without a reply, each with whether all of its bytes are at
    /// the server, of whose connection `written` bytes have been written.
    pub fn unanswered(&self, written: u64) -> Vec<(u64, bool)> {
        self.awaited
            .iter()
            .filter(|awaited| !awaited.answered)
            .map(|awaited| (awaited.seq, awaited.reached_at <= written))
            .collect()
    }
}

fn is_subscription(word: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [
        b"subscribe",
        b"unsubscribe",
        b"psubscribe",
        b"punsubscribe",
        b"ssubscribe",
        b"sunsubscribe",
    ];
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(word))
}

fn is_message(word: &[u8]) -> bool {
    [&b"message"[..], b"pmessage", b"smessage"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::super::frame::encode_request;
    use super::*;

    fn send(tracker: &mut Tracker, command: &str) -> u64 {
        let seq = tracker.number_request();
        let argv: Vec<&str> = command.split_whitespace().collect();
        tracker.passed_on(seq, &encode_request(&argv), 0);
        seq
    }

    fn array(words: &str) -> Vec<u8> {
        encode_request(&words.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn replies_answer_in_order() {
        let mut tracker = Tracker::default();
        send(&mut tracker, "GET a");
        send(&mut tracker, "GET b");
        assert_eq!(tracker.name_reply(b"$-1\r\n"), Key::Numbered(0));
        assert_eq!(tracker.unanswered(0), [(1, true)]);
        // Without a subscription an array is a reply, whatever it says.
        assert_eq!(tracker.name_reply(&array("message x y")), Key::Numbered(1));
        assert!(tracker.is_quiet());
    }

    #[test]
    fn a_message_answers_nothing() {
        let mut tracker = Tracker::default();
        send(&mut tracker, "SUBSCRIBE a b");
        assert_eq!(
            tracker.name_reply(&array("subscribe a 1")),
            Key::Numbered(0)
        );
        assert_eq!(tracker.name_reply(&array("message a hi")), Key::Push(0));
        assert_eq!(tracker.name_reply(&array("subscribe b 2")), Key::Push(1));
        assert!(tracker.is_quiet());
        send(&mut tracker, "PING");
        assert_eq!(tracker.name_reply(&array("message a hi")), Key::Push(2));
        assert_eq!(tracker.name_reply(&array("pong")), Key::Numbered(1));
    }

    #[test]
    fn a_resp3_push_answers_only_a_subscription() {
        let mut tracker = Tracker::default();
        send(&mut tracker, "GET a");
        send(&mut tracker, "SUBSCRIBE a");
        let push = |words: &str| {
            let mut frame = array(words);
            frame[0] = b'>';
            frame
        };
        assert_eq!(tracker.name_reply(&push("invalidate a")), Key::Push(0));
        assert_eq!(tracker.name_reply(b"+v\r\n"), Key::Numbered(0));
        assert_eq!(tracker.name_reply(&push("subscribe a 1")), Key::Numbered(1));
    }

    #[test]
    fn a_refused_subscription_is_answered_by_its_error() {
        let mut tracker = Tracker::default();
        send(&mut tracker, "SUBSCRIBE a b");
        send(&mut tracker, "GET k");
        assert_eq!(tracker.name_reply(b"-NOPERM no\r\n"), Key::Numbered(0));
        assert_eq!(tracker.name_reply(b"$-1\r\n"), Key::Numbered(1));
    }

    #[test]
    fn an_empty_request_has_no_reply_and_a_reply_without_request_is_a_push() {
        let mut tracker = Tracker::default();
        send(&mut tracker, "");
        assert!(tracker.is_quiet());
        assert_eq!(tracker.name_reply(b"-ERR max clients\r\n"), Key::Push(0));
    }

    #[test]
    fn a_request_has_reached_the_server_only_with_its_last_byte() {
        let mut tracker = Tracker::default();
        let seq = tracker.number_request();
        tracker.passed_on(seq, &array("GET k"), 20);
        assert_eq!(tracker.unanswered(19), [(0, false)]);
        assert_eq!(tracker.unanswered(20), [(0, true)]);
    }
}
