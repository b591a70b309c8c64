//! Two lock objects of each client: which part of a client is what.
//!
//! A client with two lock objects is two parts, each of which a trace has as a client of its
//! own: A and B are the parts of the first client, C and D those of the second. The first part
//! acquires first, and the second while the first one holds.

use serde::{Deserialize, Serialize};

use super::Setup;

/// In which order clients take the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objects {
    /// All take the first key first.
    Same,
    /// The second client takes the second key first.
    Opposite,
}

impl Objects {
    /// The other part of a part's client.
    pub fn partner(self, part: u8) -> u8 {
        part ^ 1
    }

    /// The part that acquires while the other one holds.
    pub fn is_second(self, part: u8) -> bool {
        part & 1 == 1
    }

    /// The part whose owner id it uses: its client's first one.
    pub fn owner(self, part: u8) -> u8 {
        part & !1
    }

    /// Which of the two keys a part locks, 0 or 1.
    pub fn place(self, part: u8) -> u8 {
        let turned = self == Objects::Opposite && part >= 2;
        (part & 1) ^ u8::from(turned)
    }

    /// The key that a part locks, if the first one is `key`.
    pub fn key(self, part: u8, key: &str) -> String {
        match self.place(part) {
            0 => key.to_owned(),
            _ => format!("{key}:2"),
        }
    }

    /// Who is who, in words.
    pub(super) fn words(self, setup: &Setup) -> String {
        let own = |first: u8| {
            let [one, other] = [first, first + 1].map(|part| {
                let name = super::words::client(part);
                format!(
                    "{name} {}",
                    super::words::printable(&self.key(part, &setup.key))
                )
            });
            format!("{one}, then {other}")
        };
        let clients: Vec<String> = (0..setup.clients).step_by(2).map(own).collect();
        let handle = match setup.shared_handle {
            true => ", with one handle",
            false => "",
        };
        let clients = clients.join("; the other locks as ");
        format!("two locks of each client{handle}: one locks as {clients}")
    }

    /// The lock that an acquire is for, in words.
    pub(super) fn purpose(self, part: u8, setup: &Setup) -> String {
        let key = super::words::printable(&self.key(part, &setup.key));
        match self.is_second(part) {
            false => format!(" of its first lock, {key}"),
            true => {
                let first = super::words::client(self.partner(part));
                format!(" of its second lock, {key}, while it holds the first as {first}")
            }
        }
    }

    /// Two parts lock one key.
    pub fn contend(self, one: u8, other: u8) -> bool {
        self.place(one) == self.place(other)
    }
}

impl Setup {
    /// Who shares a process with a client: the other caller, or the other part.
    pub fn partner(&self, client: u8) -> Option<u8> {
        match self.objects {
            Some(objects) => Some(objects.partner(client)),
            None => (self.callers == 2 && client < 2).then(|| 1 - client),
        }
    }

    /// The client whose owner id a client uses.
    pub fn owner_of(&self, client: u8) -> u8 {
        match self.objects {
            Some(objects) => objects.owner(client),
            None => super::owner_of(client, self.shared_owner),
        }
    }

    /// The key that a client locks.
    pub fn key_of(&self, client: u8) -> String {
        match self.objects {
            Some(objects) => objects.key(client, &self.key),
            None => self.key.clone(),
        }
    }

    /// Two clients are after one key.
    pub fn contend(&self, one: u8, other: u8) -> bool {
        self.objects
            .is_none_or(|objects| objects.contend(one, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_client_takes_the_keys_in_the_same_order_or_in_the_opposite_one() {
        let keys = |objects: Objects| [0, 1, 2, 3].map(|part| objects.key(part, "k"));
        assert_eq!(keys(Objects::Same), ["k", "k:2", "k", "k:2"]);
        assert_eq!(keys(Objects::Opposite), ["k", "k:2", "k:2", "k"]);
        assert!(Objects::Opposite.contend(0, 3) && !Objects::Opposite.contend(0, 2));
    }
}
