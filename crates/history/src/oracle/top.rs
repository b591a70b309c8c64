//! The largest value that another client has.
//!
//! Two values are enough for that, if they are of different clients: of the
//! larger one's client the other is asked for.

/// The largest values of two clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Top<V> {
    first: Option<(V, u32)>,
    second: Option<(V, u32)>,
}

impl<V> Default for Top<V> {
    fn default() -> Self {
        Top {
            first: None,
            second: None,
        }
    }
}

impl<V: Copy + PartialOrd> Top<V> {
    /// A client has this value, too.
    pub(super) fn put(&mut self, client: u32, value: V) {
        let is_less = |old: Option<(V, u32)>| old.is_none_or(|(old, _)| old < value);
        let is_own = |old: Option<(V, u32)>| old.is_some_and(|(_, owner)| owner == client);
        if is_less(self.first) {
            if !is_own(self.first) {
                self.second = self.first;
            }
            self.first = Some((value, client));
        } else if !is_own(self.first) && is_less(self.second) {
            self.second = Some((value, client));
        }
    }

    /// The largest value of a client that is not this one, and whose it is.
    pub(super) fn of_others(&self, client: u32) -> Option<(V, u32)> {
        match self.first {
            Some((_, owner)) if owner == client => self.second,
            first => first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_found_as_by_looking_at_all() {
        let mut state = 3u64;
        for _ in 0..500 {
            let (mut top, mut all) = (Top::default(), Vec::new());
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let (client, value) = ((state >> 40) as u32 % 4, (state >> 50) % 9);
                top.put(client, value);
                all.push((value, client));
                for asks in 0..4 {
                    let others = all.iter().filter(|(_, owner)| *owner != asks);
                    let largest = others.map(|(value, _)| *value).max();
                    assert_eq!(top.of_others(asks).map(|(value, _)| value), largest);
                }
            }
        }
    }
}
