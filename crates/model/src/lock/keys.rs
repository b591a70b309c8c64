//! What a lock's keys are.
//!
//! A lock may keep more than its lock: a counter of fences, a queue of those who
//! wait. The properties ask different things of each, so a file may say which key
//! is what. What it says is checked: a key that is not declared may not be written,
//! and a fence that shrinks is none.

use lockproof_lua::text::{self, Piece, Symbol};

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// It says who holds: only this counts for the lease.
    Lock,
    /// A counter that only grows, and stays.
    Fence,
    /// Those who wait, each with an element of its own.
    Queue,
    /// Not declared.
    Other,
}

impl Role {
    const NAMED: [(Role, &'static str); 3] = [
        (Role::Lock, "lock"),
        (Role::Fence, "fence"),
        (Role::Queue, "queue"),
    ];
}

/// A part of a declared name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    /// `{key}`: `lock.key`.
    Key,
    /// `{name}`: a token or an owner, anybody's.
    Name,
}

/// The keys of a lock, by what they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keys {
    patterns: Vec<(Role, Vec<Part>)>,
    /// The file declares them; otherwise `lock.key` is the lock, and other keys may
    /// be anything.
    pub declared: bool,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            patterns: vec![(Role::Lock, vec![Part::Key])],
            declared: false,
        }
    }
}

pub(super) const SHAPE: &str = "`keys` must say what keys are by their names: \
     keys = { lock = \"{key}\", fence = \"{key}:fence\", queue = { \"{key}:queue\" } }";

impl Keys {
    /// Reads pairs of role and name.
    pub(super) fn declared(pairs: &[(String, String)]) -> Result<Keys, String> {
        let mut patterns = Vec::new();
        for (role, name) in pairs {
            let known = Role::NAMED.iter().find(|(_, known)| known == role);
            let Some((role, _)) = known else {
                let names = Role::NAMED.map(|(_, name)| name);
                let hint = lockproof_input::nearest::hint(role, &names);
                return Err(format!("`{role}` is nothing that a key can be; {hint}"));
            };
            patterns.push((*role, parts(name)?));
        }
        if !patterns.iter().any(|(role, _)| *role == Role::Lock) {
            return Err("`keys` must say which key is the lock: lock = \"{key}\"".into());
        }
        Ok(Keys {
            patterns,
            declared: true,
        })
    }

    /// Some key is a counter of fences.
    pub fn has_fences(&self) -> bool {
        self.patterns.iter().any(|(role, _)| *role == Role::Fence)
    }

    /// The names of the counters of fences, if `lock.key` is `key`; of those that have a
    /// token or an owner in them there is no list.
    pub fn fences(&self, key: &str) -> Vec<Vec<u8>> {
        let fences = self
            .patterns
            .iter()
            .filter(|(role, _)| *role == Role::Fence);
        let named = |parts: &[Part]| -> Option<Vec<u8>> {
            let words = parts.iter().map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Key => Some(key),
                Part::Name => None,
            });
            Some(words.collect::<Option<Vec<_>>>()?.concat().into_bytes())
        };
        fences.filter_map(|(_, parts)| named(parts)).collect()
    }

    /// What a key is, if `lock.key` is `key`.
    pub fn role(&self, name: &[u8], key: &str) -> Role {
        let found = self
            .patterns
            .iter()
            .find(|(_, parts)| matches(name, parts, key));
        found.map_or(Role::Other, |(role, _)| *role)
    }
}

fn parts(name: &str) -> Result<Vec<Part>, String> {
    let mut found = Vec::new();
    let mut rest = name;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        if !before.is_empty() {
            found.push(Part::Text(before.to_owned()));
        }
        // Braces of a hash tag are a part of the name.
        let known = [("{key}", Part::Key), ("{name}", Part::Name)];
        match known.into_iter().find(|(word, _)| after.starts_with(word)) {
            Some((word, part)) => {
                found.push(part);
                rest = &after[word.len()..];
            }
            None => {
                found.push(Part::Text("{".to_owned()));
                rest = &after[1..];
            }
        }
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest.to_owned()));
    }
    if found.is_empty() {
        return Err("a key's name can not be empty".into());
    }
    Ok(found)
}

fn matches(name: &[u8], parts: &[Part], key: &str) -> bool {
    let Some((first, rest)) = parts.split_first() else {
        return name.is_empty();
    };
    match first {
        Part::Text(text) => after(name, text.as_bytes()).is_some_and(|n| matches(n, rest, key)),
        Part::Key => after(name, key.as_bytes()).is_some_and(|n| matches(n, rest, key)),
        Part::Name => match text::pieces(name).next() {
            Some(Piece::Symbol(symbol @ Symbol::Name(_))) => {
                matches(&name[symbol.text().len()..], rest, key)
            }
            // For real, a name is letters, digits, `-` and `_`.
            Some(Piece::Plain(bytes)) => {
                let letter = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
                let most = bytes.iter().take_while(|b| letter(b)).count();
                (1..=most).rev().any(|n| matches(&name[n..], rest, key))
            }
            _ => false,
        },
    }
}

fn after<'n>(name: &'n [u8], prefix: &[u8]) -> Option<&'n [u8]> {
    name.strip_prefix(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pairs: &[(&str, &str)]) -> Result<Keys, String> {
        let owned: Vec<_> = pairs
            .iter()
            .map(|(role, name)| (role.to_string(), name.to_string()))
            .collect();
        Keys::declared(&owned)
    }

    #[test]
    fn a_key_is_what_the_file_says_and_the_lock_is_lock_key_by_itself() {
        let keys = keys(&[
            ("lock", "lock:{key}"),
            ("fence", "{{key}}:fence"),
            ("queue", "{key}:{name}:wait"),
        ])
        .unwrap();
        assert_eq!(keys.role(b"lock:a", "a"), Role::Lock);
        assert_eq!(keys.role(b"{a}:fence", "a"), Role::Fence);
        assert_eq!(keys.role(b"a:tok-1:wait", "a"), Role::Queue);
        assert_eq!(keys.role(b"a", "a"), Role::Other);
        assert_eq!(Keys::default().role(b"a", "a"), Role::Lock);
    }

    #[test]
    fn a_role_that_there_is_not_is_refused() {
        assert!(keys(&[("lok", "{key}")]).unwrap_err().contains("`lok`"));
        assert!(keys(&[("fence", "x")]).unwrap_err().contains("the lock"));
        assert!(keys(&[("lock", "")]).unwrap_err().contains("empty"));
    }
}
