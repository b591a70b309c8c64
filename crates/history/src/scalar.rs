//! A JSON value that is one number, text or truth value, read without a tree.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::tree::{self, Skipped};

/// A value that is no list and no object.
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
    Other,
}

impl Scalar {
    /// A whole number; `2.0` is one.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Scalar::Int(int) => Some(*int),
            Scalar::Float(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                Some(*float as i64)
            }
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Scalar::Int(int) => Some(*int as f64),
            Scalar::Float(float) => Some(*float),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Int(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(i64::try_from(value).map_or(Scalar::Other, Scalar::Int))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
                while seq.next_element::<Skipped>()?.is_some() {}
                Ok(Scalar::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                tree::skip_fields(&mut map)?;
                Ok(Scalar::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
