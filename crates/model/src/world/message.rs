//! A message in flight, packed into one field of a world state.

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Content {
    /// A command, by the closure's number.
    Request(u16),
    /// A reply, by the closure's number.
    Reply(u16),
    /// The connection broke under the command.
    Broken,
    /// No connection was made, so nothing was sent.
    Refused,
    /// A published message, by the closure's number: nobody asked for it.
    Published(u16),
}

/// A request on its way to a node, or what comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    pub content: Content,
    pub node: u8,
    /// The client's thread that sent the command.
    pub thread: u8,
    /// The thread still waits for the reply.
    pub awaited: bool,
    /// Ticks that it may still stay in flight; 0 means now.
    pub allowance: u8,
    /// It goes to, or comes from, the server that was the node before a
    /// promotion, and not the one that is.
    pub old: bool,
    /// A WAIT, or a BLPOP, that its server holds back: ticks until it gives up waiting, or
    /// [`FOR_EVER`]; `None` for anything else.
    pub blocked: Option<u8>,
    /// Its turn among the BLPOPs that its server holds back, from 1; 0 for anything else.
    pub turn: u8,
    /// A request that its client was about to send when it was paused.
    pub held: bool,
    /// Its place among what comes on the client's subscription, from 1; 0 if it comes on
    /// another connection.
    pub place: u8,
    /// A published message that stands for two like it; or for more, where not everything
    /// happens at ticks.
    pub more: bool,
}

impl Message {
    /// A published message on its way to who listens.
    pub fn published(number: u16, node: u8, place: u8) -> Message {
        Message {
            content: Content::Published(number),
            node,
            thread: 0,
            awaited: false,
            allowance: 0,
            old: false,
            blocked: None,
            turn: 0,
            held: false,
            place,
            more: false,
        }
    }
}

/// Most messages that can come on one subscription at once, equal ones in a row counted
/// as one.
pub const PLACES: u8 = 3;

/// Most BLPOPs that a server can hold back at once.
pub const TURNS: u8 = 7;

/// A WAIT, or a BLPOP, without a time-out.
pub const FOR_EVER: u8 = 30;

/// What messages of a world can be.
#[derive(Clone, Copy, Debug)]
pub struct MessageKinds {
    /// So many different commands.
    pub commands: usize,
    /// So many different replies.
    pub replies: usize,
    pub nodes: u8,
    /// The greatest allowance.
    pub allowance: u8,
    /// A node's old server can go on.
    pub splits: bool,
    /// The lock sends WAIT.
    pub waits: bool,
    /// The lock sends BLPOP.
    pub pops: bool,
    /// Clients can be paused.
    pub pauses: bool,
    /// Connections can be refused.
    pub refuses: bool,
    /// So many different messages are published.
    pub published: usize,
    /// Clients listen.
    pub listens: bool,
}

/// Bits of a packed message, lowest first: content, node, thread, awaited,
/// allowance, old, blocked, turn, held, place, more.
#[derive(Clone, Copy, Debug)]
pub struct MessageLayout {
    commands: usize,
    replies: usize,
    refuses: usize,
    content: u8,
    node: u8,
    allowance: u8,
    old: u8,
    blocked: u8,
    turn: u8,
    held: u8,
    place: u8,
    more: u8,
}

fn bits(most: usize) -> u8 {
    (usize::BITS - most.leading_zeros()) as u8
}

impl MessageLayout {
    /// A layout for messages of this kind.
    pub fn new(kinds: MessageKinds) -> MessageLayout {
        let MessageKinds {
            commands,
            replies,
            nodes,
            allowance,
            splits,
            waits,
            pops,
            pauses,
            refuses,
            published,
            listens,
        } = kinds;
        let refuses = usize::from(refuses);
        let published = if listens { published } else { 0 };
        MessageLayout {
            commands,
            replies,
            refuses,
            content: bits(commands + replies + 1 + refuses + published),
            node: bits(usize::from(nodes) - 1),
            allowance: bits(usize::from(allowance)),
            old: u8::from(splits),
            blocked: if waits || pops {
                bits(1 + usize::from(FOR_EVER))
            } else {
                0
            },
            turn: if pops { bits(TURNS.into()) } else { 0 },
            held: u8::from(pauses),
            place: if listens { bits(PLACES.into()) } else { 0 },
            more: u8::from(listens),
        }
    }

    /// The greatest packed value.
    pub fn most(&self) -> usize {
        let named = self.content + self.node + 3 + self.allowance;
        (1 << (named + self.old + self.blocked + self.turn + self.held + self.place + self.more))
            - 1
    }

    /// Packs a message; never 0, which stands for an empty slot.
    #[inline]
    pub fn pack(&self, message: Message) -> usize {
        let content = match message.content {
            Content::Request(command) => 1 + usize::from(command),
            Content::Reply(reply) => 1 + self.commands + usize::from(reply),
            Content::Broken => 1 + self.commands + self.replies,
            Content::Refused => 2 + self.commands + self.replies,
            Content::Published(message) => {
                2 + self.commands + self.replies + self.refuses + usize::from(message)
            }
        };
        let mut shift = 0;
        let mut packed = 0;
        let mut put = |value: usize, bits: u8| {
            assert!(value >> bits == 0, "a part of a message does not fit");
            packed |= value << shift;
            shift += bits;
        };
        put(content, self.content);
        put(usize::from(message.node), self.node);
        put(usize::from(message.thread), 2);
        put(usize::from(message.awaited), 1);
        put(usize::from(message.allowance), self.allowance);
        put(usize::from(message.old), self.old);
        put(
            message.blocked.map_or(0, |ticks| 1 + usize::from(ticks)),
            self.blocked,
        );
        put(usize::from(message.turn), self.turn);
        put(usize::from(message.held), self.held);
        put(usize::from(message.place), self.place);
        put(usize::from(message.more), self.more);
        packed
    }

    /// Unpacks a slot; `None` if it is empty.
    #[inline]
    pub fn unpack(&self, packed: usize) -> Option<Message> {
        if packed == 0 {
            return None;
        }
        let mut rest = packed;
        let mut take = |bits: u8| {
            let value = rest & ((1 << bits) - 1);
            rest >>= bits;
            value
        };
        let content = take(self.content);
        let content = if content <= self.commands {
            Content::Request((content - 1) as u16)
        } else if content <= self.commands + self.replies {
            Content::Reply((content - 1 - self.commands) as u16)
        } else if content == self.commands + self.replies + 1 {
            Content::Broken
        } else if content < self.commands + self.replies + self.refuses + 2 {
            Content::Refused
        } else {
            let message = content - self.commands - self.replies - self.refuses - 2;
            Content::Published(message as u16)
        };
        Some(Message {
            content,
            node: take(self.node) as u8,
            thread: take(2) as u8,
            awaited: take(1) == 1,
            allowance: take(self.allowance) as u8,
            old: take(self.old) == 1,
            blocked: (take(self.blocked) as u8).checked_sub(1),
            turn: take(self.turn) as u8,
            held: take(self.held) == 1,
            place: take(self.place) as u8,
            more: take(self.more) == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_packing() {
        let layout = MessageLayout::new(MessageKinds {
            commands: 3,
            replies: 4,
            nodes: 5,
            allowance: 2,
            splits: true,
            waits: true,
            pops: true,
            pauses: true,
            refuses: true,
            published: 2,
            listens: true,
        });
        let contents = (0..3)
            .map(Content::Request)
            .chain((0..4).map(Content::Reply))
            .chain([Content::Broken, Content::Refused])
            .chain((0..2).map(Content::Published));
        for content in contents {
            for (node, thread, awaited, allowance, old, blocked, held) in [
                (0, 0, false, 0, true, None, false),
                (4, 3, true, 2, false, Some(0), false),
                (1, 0, true, 0, false, Some(FOR_EVER), false),
                (4, 3, true, 0, true, None, true),
            ] {
                let message = Message {
                    content,
                    node,
                    thread,
                    awaited,
                    allowance,
                    old,
                    blocked,
                    turn: 2 * thread,
                    held,
                    place: thread,
                    more: awaited,
                };
                let packed = layout.pack(message);
                assert!(packed != 0 && packed <= layout.most());
                assert_eq!(layout.unpack(packed), Some(message));
            }
        }
        assert_eq!(layout.unpack(0), None);
    }
}
