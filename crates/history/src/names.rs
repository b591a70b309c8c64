//! The vocabulary: names of operations, names of fields, and which operation has
//! which field.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

use super::Kind;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum F {
    Acquire,
    Release,
    Lost,
    Read,
    Write,
    Take,
    Draw,
    Add,
    Setup,
    FinalSet,
    FinalCounter,
    FinalCoupons,
    FinalKeys,
    FinalAcquire,
    Execute,
    Stall,
    Crash,
    /// The last line of a run that came to its end.
    End,
    /// Faults and whatever else somebody records.
    Other,
}

impl<'de> Deserialize<'de> for F {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = F;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an operation")
            }
            fn visit_str<E>(self, name: &str) -> Result<F, E> {
                Ok(match name {
                    "acquire" => F::Acquire,
                    "release" => F::Release,
                    "lost" => F::Lost,
                    "read" => F::Read,
                    "write" => F::Write,
                    "take" => F::Take,
                    "draw" => F::Draw,
                    "add" => F::Add,
                    "setup" => F::Setup,
                    "final-set" => F::FinalSet,
                    "final-counter" => F::FinalCounter,
                    "final-coupons" => F::FinalCoupons,
                    "final-keys" => F::FinalKeys,
                    "final-acquire" => F::FinalAcquire,
                    "execute" => F::Execute,
                    "stall" => F::Stall,
                    "crash" => F::Crash,
                    "end" => F::End,
                    _ => F::Other,
                })
            }
        }
        deserializer.deserialize_str(Names)
    }
}

impl F {
    /// True for what only is noted, as `info`; false for what is done, and for
    /// commands, which may be either.
    pub(super) fn is_note(self) -> bool {
        matches!(self, F::Lost | F::Setup | F::Stall | F::Crash | F::End)
    }

    /// True for what a client or the harness does; false for what is only noted.
    pub(super) fn is_operation(self) -> bool {
        !self.is_note() && !matches!(self, F::Execute | F::Other)
    }

    /// What an event cannot be judged without.
    pub(super) fn needed(self, kind: Kind) -> &'static [Name] {
        match (self, kind) {
            (F::Read | F::FinalCounter, Kind::Ok) => &[Name::Value],
            (F::Write, Kind::Invoke) => &[Name::Read, Name::Wrote],
            (F::Take, Kind::Ok) => &[Name::Read],
            (F::Draw, Kind::Invoke) => &[Name::Round],
            (F::Draw, Kind::Ok) => &[Name::Winners],
            (F::Add, Kind::Invoke) => &[Name::Element],
            (F::FinalSet, Kind::Ok) => &[Name::Elements],
            (F::FinalCoupons, Kind::Ok) => &[Name::Left],
            (F::FinalKeys, Kind::Ok) => &[Name::Keys],
            (F::Execute, _) => &[Name::Client, Name::Argv],
            (F::Crash, _) => &[Name::Client],
            (F::End, _) => &[Name::Complete],
            _ => &[],
        }
    }

    /// The fields that an event of this name has; an end may say again what its
    /// invocation said.
    pub(super) fn has(self, kind: Kind) -> NameSet {
        let invoked = kind == Kind::Invoke;
        NameSet::of(match self {
            F::Acquire if invoked => &[Name::Token, Name::Key],
            F::Acquire => &[
                Name::Token,
                Name::Key,
                Name::ValidityMs,
                Name::Fence,
                Name::ClockOffsetMs,
            ],
            F::Release if invoked => &[Name::Key],
            F::Release => &[Name::Key, Name::Effect],
            F::Lost => &[Name::Key],
            F::Read | F::FinalCounter => &[Name::Value],
            F::Write => &[Name::Read, Name::Wrote, Name::Fence],
            F::Take => &[Name::Read, Name::Left],
            F::Draw if invoked => &[Name::Round],
            F::Draw => &[Name::Round, Name::Winners],
            F::Add => &[Name::Element],
            F::Setup => &[Name::Coupons, Name::Counter],
            F::FinalSet => &[Name::Elements],
            F::FinalCoupons => &[Name::Left],
            F::FinalKeys => &[Name::Keys, Name::AfterMs],
            F::FinalAcquire => &[Name::Key],
            F::Execute => &[Name::Client, Name::Argv, Name::Reply],
            F::Stall => &[Name::GapMs],
            F::Crash => &[Name::Client, Name::Phase, Name::Fault],
            F::End => &[Name::Complete],
            F::Other => &[],
        })
    }
}

macro_rules! names {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// The fields of an event and of every `value`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name { $($name),* }

        const NAMES: &[(Name, &str)] = &[$((Name::$name, $text)),*];

        impl Name {
            pub(super) fn text(self) -> &'static str {
                match self { $(Name::$name => $text),* }
            }
            fn of(text: &str) -> Option<Name> {
                match text { $($text => Some(Name::$name),)* _ => None }
            }
        }
    };
}

names! {
    Time = "time", Process = "process", Type = "type", F = "f", Value = "value", Error = "error",
    Index = "index", Token = "token", Key = "key", ValidityMs = "validity_ms", Fence = "fence",
    ClockOffsetMs = "clock_offset_ms", Effect = "effect", Read = "read", Wrote = "wrote",
    Left = "left", Coupons = "coupons", Counter = "counter", Round = "round",
    Winners = "winners", Element = "element", Elements = "elements", Keys = "keys",
    AfterMs = "after_ms", Client = "client", Argv = "argv", Reply = "reply", Phase = "phase",
    Fault = "fault", GapMs = "gap_ms", Id = "id", Complete = "complete",
}

/// All names, for the hint at a misspelt one.
pub(super) fn names() -> Vec<&'static str> {
    NAMES.iter().map(|(_, text)| *text).collect()
}

/// Some names, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NameSet(u64);

impl NameSet {
    pub(super) const NONE: NameSet = NameSet(0);

    fn of(names: &[Name]) -> NameSet {
        NameSet(names.iter().fold(0, |bits, name| bits | bit(*name)))
    }

    /// False if it was there.
    pub(super) fn insert(&mut self, name: Name) -> bool {
        let new = self.0 & bit(name) == 0;
        self.0 |= bit(name);
        new
    }

    pub(super) fn remove(&mut self, name: Name) {
        self.0 &= !bit(name);
    }

    /// Those that are not in the other set, by their place in the vocabulary.
    pub(super) fn without(self, other: NameSet) -> impl Iterator<Item = Name> {
        let left = self.0 & !other.0;
        let there = move |(name, _): &(Name, &str)| left & bit(*name) != 0;
        let some = if left == 0 { &[] } else { NAMES };
        some.iter().copied().filter(there).map(|(name, _)| name)
    }
}

/// There are fewer than 64 names.
fn bit(name: Name) -> u64 {
    1 << name as u32
}

/// A field's name, borrowed from nothing.
pub(super) enum Field {
    Known(Name),
    Unknown(Box<str>),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = Field;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field's name")
            }
            fn visit_str<E>(self, text: &str) -> Result<Field, E> {
                Ok(Name::of(text).map_or_else(|| Field::Unknown(text.into()), Field::Known))
            }
        }
        deserializer.deserialize_identifier(Names)
    }
}
