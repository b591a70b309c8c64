//! An event as the judge reads it.
//!
//! [`super::Event`] keeps its value as a JSON tree, which is right for a writer
//! and too slow for a judge: most of the time went into building and dropping
//! maps. Here the fields of the whole vocabulary stand side by side, and a line
//! becomes one of these without a tree.
//!
//! Fields are read before it is known what `f` is (it may stand behind them), so
//! a wrong type is remembered and complained about only if `f` needs the field.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

pub(super) use super::names::F;
use super::names::{Field, Name, NameSet};
use super::reply::{MaybeReply, Reply, Texts};
use super::scalar::Scalar;
use super::tree::{self, Once, Skipped, Tree};
use super::{Kind, Process};

/// An element of the guarded set, or a winner.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Element {
    Number(i64),
    Text(Box<str>),
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Number(number) => write!(f, "{number}"),
            Element::Text(text) => write!(f, "\"{}\"", text.escape_debug()),
        }
    }
}

/// A key that was left on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftKey {
    pub node: i64,
    pub key: String,
    /// Milliseconds; `None` if the key has no expiry.
    pub pttl_ms: Option<i64>,
    pub owner: Option<u32>,
}

/// The fields of `value`. What is absent or null is `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    pub key: Option<Box<str>>,
    /// Rounded down to whole nanoseconds; may be negative.
    pub validity_ns: Option<i64>,
    pub fence: Option<i64>,
    pub effect: Option<bool>,
    pub value: Option<i64>,
    pub read: Option<i64>,
    pub wrote: Option<i64>,
    pub round: Option<i64>,
    pub element: Option<Element>,
    pub client: Option<u32>,
    /// What only commands have, which are half of a free run's events.
    pub command: Option<Box<Command>>,
    /// What few events have.
    pub rare: Option<Box<Rare>>,
    /// The first field with a type that nobody expects.
    pub(super) wrong: Option<Name>,
    /// The fields that are there, also those that are null.
    pub(super) names: NameSet,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    /// Of one that has an interval.
    pub id: Option<u64>,
    pub argv: Option<Vec<String>>,
    pub reply: Option<Reply>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    pub left: Option<i64>,
    pub coupons: Option<i64>,
    pub counter: Option<i64>,
    pub after_ms: Option<f64>,
    pub gap_ms: Option<f64>,
    pub winners: Option<Vec<Element>>,
    pub elements: Option<Vec<Element>>,
    pub keys: Option<Vec<LeftKey>>,
    pub phase: Option<String>,
    pub fault: Option<String>,
    pub complete: Option<bool>,
}

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub line: u64,
    pub time: u64,
    pub process: Process,
    pub kind: Kind,
    pub f: F,
    pub details: Details,
    /// Fields that the vocabulary does not have, or not for this `f`.
    pub strange: Option<Box<Strange>>,
}

impl Details {
    pub(super) fn rare(&self) -> Option<&Rare> {
        self.rare.as_deref()
    }

    pub(super) fn command(&self) -> Option<&Command> {
        self.command.as_deref()
    }

    fn command_mut(&mut self) -> &mut Command {
        self.command.get_or_insert_default()
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn has(&self, name: Name) -> bool {
        let rare = |have: fn(&Rare) -> bool| self.rare().is_some_and(have);
        match name {
            Name::Value => self.value.is_some(),
            Name::Read => self.read.is_some(),
            Name::Wrote => self.wrote.is_some(),
            Name::Round => self.round.is_some(),
            Name::Element => self.element.is_some(),
            Name::Left => rare(|rare| rare.left.is_some()),
            Name::Client => self.client.is_some(),
            Name::Id => self.command().is_some_and(|it| it.id.is_some()),
            Name::Winners => rare(|rare| rare.winners.is_some()),
            Name::Elements => rare(|rare| rare.elements.is_some()),
            Name::Keys => rare(|rare| rare.keys.is_some()),
            Name::Complete => rare(|rare| rare.complete.is_some()),
            Name::Argv => self.command().is_some_and(|it| it.argv.is_some()),
            _ => true,
        }
    }
}

impl Record {
    /// The client that it declares dead. The second half of a pair of notes is
    /// the client's return.
    pub(super) fn death(&self) -> Option<u32> {
        if self.f != F::Crash {
            return None;
        }
        let rare = self.details.rare();
        let returns = rare.and_then(|rare| rare.phase.as_deref()) == Some("end");
        self.details.client.filter(|_| !returns)
    }

    /// Whether it says that the run did all that it was to do; `None` if it is no end.
    pub(super) fn end(&self) -> Option<bool> {
        let rare = self.details.rare().filter(|_| self.f == F::End);
        rare.and_then(|rare| rare.complete)
    }

    /// Says which field is missing, has a wrong type or contradicts another.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.f == F::Other {
            return Ok(());
        }
        if self.f.is_note() && self.kind != Kind::Info {
            return Err("it only notes something, so its type is `info`".into());
        }
        if self.f == F::End && self.process != Process::Harness {
            return Err("only the harness ends a history".into());
        }
        for name in self.needed() {
            if !self.details.has(*name) && self.details.wrong != Some(*name) {
                return Err(format!("its `value` lacks `{}`", name.text()));
            }
        }
        match self.details.wrong {
            // Only commands have one; elsewhere it is somebody's own field.
            Some(Name::Id) if self.f != F::Execute => self.check_step(),
            Some(name) => Err(format!(
                "`{}` in its `value` has a wrong type or range",
                name.text()
            )),
            None if self.f == F::Execute => self.check_command(),
            None => self.check_step(),
        }
    }

    fn needed(&self) -> &'static [Name] {
        // A note of what was executed exactly then, or one end of an interval.
        let interval = self.details.has(Name::Id);
        match (self.f, self.kind) {
            (F::Execute, Kind::Invoke) => &[Name::Client, Name::Id, Name::Argv],
            (F::Execute, Kind::Ok | Kind::Fail) => &[Name::Client, Name::Id],
            (F::Execute, Kind::Info) if interval => &[Name::Client, Name::Id],
            (f, kind) => f.needed(kind),
        }
    }

    fn check_command(&self) -> Result<(), String> {
        let details = &self.details;
        let both = details.has(Name::Id) && details.has(Name::Argv);
        if self.kind != Kind::Invoke && both {
            return Err(
                "its `value` has both an `id` and `argv`, which stand together only in an invoke"
                    .into(),
            );
        }
        Ok(())
    }

    /// A take leaves one less than it read, a write adds one: an oracle that was
    /// told otherwise would count something else than it says.
    fn check_step(&self) -> Result<(), String> {
        let details = &self.details;
        let left = details.rare().and_then(|rare| rare.left);
        let (read, (name, found), step) = match self.f {
            F::Take => (details.read, ("left", left), -1),
            F::Write => (details.read, ("wrote", details.wrote), 1),
            _ => return Ok(()),
        };
        let (Some(read), Some(found)) = (read, found) else {
            return Ok(());
        };
        if read.checked_add(step) == Some(found) {
            return Ok(());
        }
        Err(format!(
            "it read {read}, and its `{name}` is {found} where it should be one {}",
            if step > 0 { "more" } else { "less" }
        ))
    }

    /// A field of its end that says something else than its invocation did.
    pub(super) fn contradicts(&self, invoked: &Details) -> Option<&'static str> {
        fn differ<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_some() && other.is_some() && one != other
        }
        let details = &self.details;
        let write = self.f == F::Write;
        let all = [
            (differ(&details.round, &invoked.round), "round"),
            (differ(&details.element, &invoked.element), "element"),
            (write && differ(&details.read, &invoked.read), "read"),
            (write && differ(&details.wrote, &invoked.wrote), "wrote"),
            (write && differ(&details.fence, &invoked.fence), "fence"),
        ];
        all.into_iter()
            .find_map(|(differs, name)| differs.then_some(name))
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Record, D::Error> {
        deserializer.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        use serde::de::Error;
        let (mut time, mut process, mut kind, mut f) = (None, None, None, None);
        let (mut found, mut names) = (Found::default(), NameSet::default());
        let mut strange: Option<Box<Strange>> = None;
        while let Some(field) = map.next_key::<Field>()? {
            let name = match field {
                Field::Known(name) if !names.insert(name) => {
                    return Err(tree::twice(name.text()));
                }
                Field::Known(name) => name,
                Field::Unknown(name) => {
                    strange.get_or_insert_default().see(name)?;
                    map.next_value::<Skipped>()?;
                    continue;
                }
            };
            match name {
                Name::Time => time = Some(map.next_value::<u64>()?),
                Name::Process => process = Some(map.next_value()?),
                Name::Type => kind = Some(map.next_value()?),
                Name::F => f = Some(map.next_value()?),
                Name::Value => found = map.next_value()?,
                name => {
                    if !matches!(name, Name::Error | Name::Index) {
                        strange.get_or_insert_default().all.push(name.text().into());
                    }
                    map.next_value::<Skipped>()?;
                }
            }
        }
        let f: F = f.ok_or_else(|| A::Error::missing_field("f"))?;
        let kind = kind.ok_or_else(|| A::Error::missing_field("type"))?;
        // What somebody else's operation carries is none of our business.
        if f != F::Other {
            if let Some(inside) = found.strange {
                strange.get_or_insert_default().all.extend(inside.all);
            }
            let mut extra = found.details.names;
            // An `id` may be anybody's own.
            extra.remove(Name::Id);
            for name in extra.without(f.has(kind)) {
                strange.get_or_insert_default().all.push(name.text().into());
            }
        }
        Ok(Record {
            line: 0,
            time: time.ok_or_else(|| A::Error::missing_field("time"))?,
            process: process.ok_or_else(|| A::Error::missing_field("process"))?,
            kind,
            f,
            details: found.details,
            strange,
        })
    }
}

/// Fields that nobody knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Strange {
    pub all: Vec<Box<str>>,
    once: Once,
}

impl Strange {
    fn see<E: serde::de::Error>(&mut self, name: Box<str>) -> Result<(), E> {
        self.once.see(&name)?;
        self.all.push(name);
        Ok(())
    }
}

/// A `value`, whatever it is.
#[derive(Default)]
struct Found {
    details: Details,
    strange: Option<Box<Strange>>,
}

impl<'de> Deserialize<'de> for Found {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_any(FoundVisitor)
    }
}

struct FoundVisitor;

impl FoundVisitor {
    fn no_object() -> Found {
        let mut found = Found::default();
        found.details.wrong = Some(Name::Value);
        found
    }
}

impl<'de> Visitor<'de> for FoundVisitor {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Found, E> {
        Ok(Found::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Found, E> {
        Ok(Self::no_object())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Found, E> {
        Ok(Self::no_object())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Found, E> {
        Ok(Self::no_object())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Found, E> {
        Ok(Self::no_object())
    }

    fn visit_str<E>(self, _: &str) -> Result<Found, E> {
        Ok(Self::no_object())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Found, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Self::no_object())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found::default();
        while let Some(field) = map.next_key::<Field>()? {
            let name = match field {
                Field::Known(name) => name,
                Field::Unknown(name) => {
                    found.strange.get_or_insert_default().see(name)?;
                    map.next_value::<Skipped>()?;
                    continue;
                }
            };
            if !found.details.names.insert(name) {
                return Err(tree::twice(name.text()));
            }
            let fits = match name {
                Name::Token => {
                    map.next_value::<Skipped>()?;
                    true
                }
                Name::Argv => {
                    let texts = map.next_value::<Texts>()?.0;
                    let fits = texts.is_some();
                    found.details.command_mut().argv = texts;
                    fits
                }
                Name::Reply => {
                    found.details.command_mut().reply = map.next_value::<MaybeReply>()?.0;
                    true
                }
                Name::Winners | Name::Elements | Name::Keys => {
                    set_tree(found.details.rare_mut(), name, map.next_value::<Tree>()?.0)
                }
                name => {
                    let scalar = map.next_value::<Scalar>()?;
                    matches!(scalar, Scalar::Null)
                        || set(&mut found.details, name, scalar).is_some()
                }
            };
            // An id that is none may be no mistake, so it hides no other.
            if !fits && matches!(found.details.wrong, None | Some(Name::Id)) {
                found.details.wrong = Some(name);
            }
        }
        Ok(found)
    }
}

/// Puts a scalar into its place; `None` if it does not fit.
fn set(details: &mut Details, name: Name, scalar: Scalar) -> Option<()> {
    match name {
        Name::Key => details.key = Some(text(scalar)?),
        Name::ValidityMs => {
            // A cast saturates; a validity of 292 years is for ever.
            details.validity_ns = Some((scalar.number()? * 1e6).floor() as i64);
        }
        Name::Fence => details.fence = Some(scalar.whole()?),
        Name::Effect => match scalar {
            Scalar::Bool(effect) => details.effect = Some(effect),
            _ => return None,
        },
        Name::Value => details.value = Some(scalar.whole()?),
        Name::Read => details.read = Some(scalar.whole()?),
        Name::Wrote => details.wrote = Some(scalar.whole()?),
        Name::Round => details.round = Some(scalar.whole()?),
        Name::Element => match scalar {
            Scalar::Text(text) => details.element = Some(Element::Text(text)),
            other => details.element = Some(Element::Number(other.whole()?)),
        },
        Name::Left => details.rare_mut().left = Some(scalar.whole()?),
        Name::Coupons => {
            details.rare_mut().coupons = Some(scalar.whole().filter(|coupons| *coupons >= 0)?);
        }
        Name::Counter => details.rare_mut().counter = Some(scalar.whole()?),
        Name::Client => {
            details.client = Some(u32::try_from(scalar.whole()?).ok()?);
        }
        Name::Id => details.command_mut().id = Some(u64::try_from(scalar.whole()?).ok()?),
        Name::AfterMs => details.rare_mut().after_ms = Some(length(&scalar)?),
        Name::GapMs => details.rare_mut().gap_ms = Some(length(&scalar)?),
        Name::Phase => details.rare_mut().phase = Some(text(scalar)?.into()),
        Name::Fault => details.rare_mut().fault = Some(text(scalar)?.into()),
        Name::Complete => match scalar {
            Scalar::Bool(complete) => details.rare_mut().complete = Some(complete),
            _ => return None,
        },
        Name::ClockOffsetMs => {
            scalar.number()?;
        }
        // Names of the event itself mean nothing inside of a value.
        _ => {}
    }
    Some(())
}

/// A length of time, which is not negative.
fn length(scalar: &Scalar) -> Option<f64> {
    scalar.number().filter(|length| *length >= 0.0)
}

fn text(scalar: Scalar) -> Option<Box<str>> {
    match scalar {
        Scalar::Text(text) => Some(text),
        _ => None,
    }
}

/// Puts a list into its place; false if it does not fit.
fn set_tree(rare: &mut Rare, name: Name, tree: Value) -> bool {
    if tree.is_null() {
        return true;
    }
    let Value::Array(items) = tree else {
        return false;
    };
    let set = match name {
        Name::Winners => list(items, element).map(|all| rare.winners = Some(all)),
        Name::Elements => list(items, element).map(|all| rare.elements = Some(all)),
        _ => list(items, left_key).map(|all| rare.keys = Some(all)),
    };
    set.is_some()
}

fn list<T>(items: Vec<Value>, one: impl Fn(Value) -> Option<T>) -> Option<Vec<T>> {
    items.into_iter().map(one).collect()
}

/// A whole number that stands in a list; `2.0` is one.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let float = || Scalar::Float(number.as_f64()?).whole();
    number.as_i64().or_else(float)
}

fn element(item: Value) -> Option<Element> {
    match item {
        Value::String(text) => Some(Element::Text(text.into())),
        Value::Number(number) => whole(&number).map(Element::Number),
        _ => None,
    }
}

fn left_key(item: Value) -> Option<LeftKey> {
    let pttl_ms = item.get("pttl_ms")?.as_i64().filter(|pttl| *pttl >= -1)?;
    Some(LeftKey {
        node: item.get("node")?.as_i64()?,
        key: item.get("key")?.as_str()?.to_owned(),
        pttl_ms: (pttl_ms >= 0).then_some(pttl_ms),
        owner: match item.get("owner") {
            None | Some(Value::Null) => None,
            Some(owner) => Some(u32::try_from(owner.as_u64()?).ok()?),
        },
    })
}
