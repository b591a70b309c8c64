//! The name that one run draws, and by which it knows what is its own.
//!
//! Everything that a run puts where others may have things too carries this name: its
//! keys, the channel on which it publishes, its proxies. It comes from the system and
//! not from the seed: two runs of one seed may be on one server, and nobody may guess
//! it. 64 random bits are in no key that somebody else has made, so that a key with
//! them in it is this run's, whatever a lock library has written around them.

use std::io;

/// What comes before the drawn digits, in keys.
const KEYS: &str = "lockproof:";
/// What the names of all proxies of attached runs begin with.
const PROXIES: &str = "lockproof.";
const DIGITS: usize = 16;

/// A drawn name: sixteen hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drawn(String);

impl Drawn {
    /// Draws one.
    pub fn draw() -> io::Result<Drawn> {
        let mut bytes = [0; DIGITS / 2];
        let flags = rustix::rand::GetRandomFlags::empty();
        let length = rustix::rand::getrandom(&mut bytes[..], flags)?;
        if length < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Drawn(format!("{:016x}", u64::from_be_bytes(bytes))))
    }

    /// What all keys of the run have in them.
    pub fn prefix(&self) -> String {
        format!("{KEYS}{}", self.0)
    }

    /// The key that clients compete for.
    pub fn lock_key(&self) -> String {
        self.prefix() + ":lock"
    }

    /// The channel that shows whether replication flows.
    pub fn channel(&self) -> String {
        self.prefix() + ":flows"
    }

    /// Whether a key is this run's.
    pub fn is_in(&self, key: &[u8]) -> bool {
        let prefix = self.prefix();
        key.windows(prefix.len())
            .any(|part| part == prefix.as_bytes())
    }

    /// The name of one of this run's proxies.
    pub fn proxy(&self, what: &str) -> String {
        format!("{PROXIES}{}.{what}", self.0)
    }

    /// The run whose proxy this is, and what for; `None` for somebody else's.
    pub fn of_proxy(name: &str) -> Option<(Drawn, &str)> {
        let (drawn, what) = name.strip_prefix(PROXIES)?.split_once('.')?;
        Some((Drawn::read(drawn)?, what))
    }

    /// Whether a key looks as if some run had made it.
    pub fn looks_so(key: &str) -> bool {
        key.match_indices(KEYS).any(|(at, _)| {
            let digits = key.get(at + KEYS.len()..at + KEYS.len() + DIGITS);
            digits.and_then(Drawn::read).is_some()
        })
    }

    fn read(digits: &str) -> Option<Drawn> {
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (digits.len() == DIGITS && digits.bytes().all(hex)).then(|| Drawn(digits.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_name_is_known_again_and_no_other_is() {
        let (one, other) = (Drawn::draw().unwrap(), Drawn::draw().unwrap());
        assert_ne!(one, other);
        for key in [
            one.lock_key(),
            format!("{{{}}}:fence", one.lock_key()),
            format!("queue:{}", one.prefix()),
        ] {
            assert!(one.is_in(key.as_bytes()), "{key}");
            assert!(!other.is_in(key.as_bytes()), "{key}");
            assert!(Drawn::looks_so(&key), "{key}");
        }
        for foreign in ["lockproof:lock", "app:lockproof:lock:config", "lockproof:"] {
            assert!(!one.is_in(foreign.as_bytes()), "{foreign}");
            assert!(!Drawn::looks_so(foreign), "{foreign}");
        }
        let proxy = one.proxy("client-0.node-1");
        assert_eq!(Drawn::of_proxy(&proxy), Some((one, "client-0.node-1")));
        for foreign in ["lockproof.left", "lockproof.ABCDEF0123456789.x", "mine"] {
            assert_eq!(Drawn::of_proxy(foreign), None, "{foreign}");
        }
    }
}
