//! JSON without names that stand twice in one object.
//!
//! A parser takes the last of two equal names and says nothing, so a history with
//! `"fence":1,"fence":2` would be judged as something that nobody wrote. Nobody
//! can say which one was meant: it is an error, at any depth, also in what is
//! otherwise skipped.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The names of one object that are not in the vocabulary.
#[derive(Clone, Debug, Default)]
pub(super) struct Once(BTreeSet<Box<str>>);

impl Once {
    /// Notes a name; an error if it was there.
    pub(super) fn see<E: Error>(&mut self, name: &str) -> Result<(), E> {
        match self.0.insert(name.into()) {
            true => Ok(()),
            false => Err(twice(name)),
        }
    }
}

/// What is said of a name that stands twice.
pub(super) fn twice<E: Error>(name: &str) -> E {
    E::custom(format_args!(
        "the name `{}` stands twice in one object; keep the one that is meant",
        name.escape_debug()
    ))
}

/// Reads the rest of an object for nothing else.
pub(super) fn skip_fields<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    let mut names = Once::default();
    while let Some(name) = map.next_key::<String>()? {
        names.see(&name)?;
        map.next_value::<Skipped>()?;
    }
    Ok(())
}

/// A value that is read for nothing but names that stand twice.
pub(super) struct Skipped;

/// A value as a tree.
pub(super) struct Tree(pub Value);

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Skipped, D::Error> {
        deserializer.deserialize_any(SkippedVisitor)
    }
}

struct SkippedVisitor;

impl<'de> Visitor<'de> for SkippedVisitor {
    type Value = Skipped;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_str<E>(self, _: &str) -> Result<Skipped, E> {
        Ok(Skipped)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Skipped, A::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Skipped, A::Error> {
        skip_fields(&mut map).map(|()| Skipped)
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(Tree)
    }
}

/// The same, for a field of a derived reader.
pub(super) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Tree::deserialize(deserializer).map(|tree| tree.0)
}

/// Words for people: a text as it is, and anything else as JSON.
pub(super) fn words<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(match value(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Tree(item)) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(twice(&name));
            }
            let Tree(value) = map.next_value()?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
