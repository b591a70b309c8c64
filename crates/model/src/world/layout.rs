//! How a world state is packed into a few machine words.
//!
//! Each field gets just the bits that its table needs. No field crosses a
//! word, so reading and writing one is a shift and a mask.

/// Words of the largest state.
pub const WORDS: usize = 8;
const _: () = assert!(WORDS.is_power_of_two(), "a word's number is masked");

/// A world state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State(pub [u64; WORDS]);

/// As much of a world state as a world uses: what a search keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Packed<const W: usize>([u64; W]);

impl<const W: usize> Packed<W> {
    /// The first words of a state; the others are 0.
    #[inline(always)]
    pub fn of(state: &State) -> Packed<W> {
        debug_assert!(state.0[W..].iter().all(|word| *word == 0));
        Packed(std::array::from_fn(|word| state.0[word]))
    }

    /// The state.
    #[inline(always)]
    pub fn state(&self) -> State {
        let mut words = [0; WORDS];
        words[..W].copy_from_slice(&self.0);
        State(words)
    }
}

impl<const W: usize> std::fmt::Debug for Packed<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.state().fmt(f)
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for word in self.0 {
            write!(f, "{word:016x}")?;
        }
        Ok(())
    }
}

/// A place in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    word: u8,
    shift: u8,
    mask: u64,
}

impl Field {
    /// A field that takes no room and always reads 0.
    pub const NOTHING: Field = Field {
        word: 0,
        shift: 0,
        mask: 0,
    };

    /// Its word's number; the mask spares a check in the innermost loop.
    #[inline(always)]
    fn word(self) -> usize {
        usize::from(self.word) & (WORDS - 1)
    }

    /// True if the field can hold anything but 0.
    pub fn exists(self) -> bool {
        self.mask != 0
    }
}

impl State {
    /// A mask that lets everything through but these fields.
    pub fn mask_without(fields: impl IntoIterator<Item = Field>) -> State {
        let mut mask = State([u64::MAX; WORDS]);
        fields.into_iter().for_each(|field| mask.set(field, 0));
        mask
    }

    /// The state with what the mask leaves out set to 0.
    #[inline(always)]
    pub fn masked(&self, mask: &State) -> State {
        State(std::array::from_fn(|word| self.0[word] & mask.0[word]))
    }

    /// Reads a field.
    #[inline(always)]
    pub fn get(&self, field: Field) -> usize {
        ((self.0[field.word()] >> field.shift) & field.mask) as usize
    }

    /// Writes a field; one of no room takes only 0.
    ///
    /// # Panics
    /// If the value does not fit: it would change others, and the answer.
    #[inline(always)]
    pub fn set(&mut self, field: Field, value: usize) {
        assert!(value as u64 <= field.mask, "a value does not fit its field");
        let word = &mut self.0[field.word()];
        *word = (*word & !(field.mask << field.shift)) | ((value as u64) << field.shift);
    }
}

/// Gives out fields, first fit.
#[derive(Debug, Default)]
pub struct Packer {
    /// Bits taken in each word.
    taken: Vec<u8>,
}

impl Packer {
    /// A field for the values `0..=most`.
    pub fn field(&mut self, most: usize) -> Field {
        let bits = (usize::BITS - most.leading_zeros()) as u8;
        if bits == 0 {
            return Field::NOTHING;
        }
        let word = match self.taken.iter().position(|taken| taken + bits <= 64) {
            Some(word) => word,
            None => {
                self.taken.push(0);
                self.taken.len() - 1
            }
        };
        let shift = self.taken[word];
        self.taken[word] += bits;
        let mask = u64::MAX >> (64 - bits);
        Field {
            word: word as u8,
            shift,
            mask,
        }
    }

    /// Words needed.
    pub fn words(&self) -> usize {
        self.taken.len().max(1)
    }

    /// Bits needed.
    pub fn bits(&self) -> usize {
        self.taken.iter().map(|taken| usize::from(*taken)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_values_and_touch_no_other() {
        let mut packer = Packer::default();
        let fields: Vec<Field> = [1, 5, 1000, 0, 70_000, 255, 12, u32::MAX as usize]
            .map(|most| packer.field(most))
            .to_vec();
        let values = [1, 4, 999, 0, 66_000, 200, 11, 123_456_789];
        let mut state = State([0; WORDS]);
        for (field, value) in fields.iter().zip(values) {
            state.set(*field, value);
        }
        for (field, value) in fields.iter().zip(values) {
            assert_eq!(state.get(*field), value);
        }
        assert!(packer.words() <= 3);
    }
}
