//! What the judge reads of a command and its reply, without a tree: half of a free
//! run's lines are these.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::scalar::Scalar;
use super::tree::{self, Once, Skipped};

/// A reply, in plain JSON or in the words of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A whole number: `1` or `{"int": 1}`.
    Int(i64),
    /// A text: `"OK"`, `{"status": "OK"}` or `{"bulk": "t"}`.
    Text(Box<str>),
    /// `{"error": ..}`.
    Error,
    /// Anything else that is there.
    Other,
}

/// A reply that may be null.
pub(super) struct MaybeReply(pub Option<Reply>);

/// A list of texts; `None` if it is something else.
pub(super) struct Texts(pub Option<Vec<String>>);

fn plain(scalar: Scalar) -> Option<Reply> {
    match scalar {
        Scalar::Null => None,
        Scalar::Text(text) => Some(Reply::Text(text)),
        scalar => Some(scalar.whole().map_or(Reply::Other, Reply::Int)),
    }
}

impl<'de> Deserialize<'de> for MaybeReply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MaybeReply, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = MaybeReply;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<MaybeReply, E> {
                Ok(MaybeReply(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<MaybeReply, E> {
                Ok(MaybeReply(Some(Reply::Other)))
            }
            fn visit_i64<E>(self, value: i64) -> Result<MaybeReply, E> {
                Ok(MaybeReply(plain(Scalar::Int(value))))
            }
            fn visit_u64<E>(self, value: u64) -> Result<MaybeReply, E> {
                let value = i64::try_from(value).map_or(Reply::Other, Reply::Int);
                Ok(MaybeReply(Some(value)))
            }
            fn visit_f64<E>(self, _: f64) -> Result<MaybeReply, E> {
                Ok(MaybeReply(Some(Reply::Other)))
            }
            fn visit_str<E>(self, value: &str) -> Result<MaybeReply, E> {
                Ok(MaybeReply(Some(Reply::Text(value.into()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MaybeReply, A::Error> {
                while seq.next_element::<Skipped>()?.is_some() {}
                Ok(MaybeReply(Some(Reply::Other)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MaybeReply, A::Error> {
                let (mut reply, mut once) = (Reply::Other, Once::default());
                let mut known = [false; WORDS.len()];
                while let Some(word) = map.next_key::<Word>()? {
                    let word = match word {
                        Word::Known(at) if std::mem::replace(&mut known[at], true) => {
                            return Err(tree::twice(WORDS[at]));
                        }
                        Word::Known(at) => WORDS[at],
                        Word::Other(name) => {
                            once.see(&name)?;
                            ""
                        }
                    };
                    let value = map.next_value::<Scalar>()?;
                    reply = match (word, plain(value)) {
                        ("error", _) => Reply::Error,
                        ("int", Some(Reply::Int(int))) => Reply::Int(int),
                        ("status" | "bulk", Some(Reply::Text(text))) => Reply::Text(text),
                        _ => reply,
                    };
                }
                Ok(MaybeReply(Some(reply)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// How traces say what kind of reply it is.
const WORDS: [&str; 4] = ["int", "status", "bulk", "error"];

enum Word {
    /// Its place in [`WORDS`].
    Known(usize),
    Other(Box<str>),
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        struct Names;
        impl Visitor<'_> for Names {
            type Value = Word;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the kind of a reply")
            }
            fn visit_str<E>(self, word: &str) -> Result<Word, E> {
                let known = WORDS.iter().position(|known| *known == word);
                Ok(known.map_or_else(|| Word::Other(word.into()), Word::Known))
            }
        }
        deserializer.deserialize_identifier(Names)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Texts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_str<E>(self, _: &str) -> Result<Texts, E> {
                Ok(Texts(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                tree::skip_fields(&mut map)?;
                Ok(Texts(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut texts = Some(Vec::with_capacity(6));
                while let Some(item) = seq.next_element::<Scalar>()? {
                    match (item, &mut texts) {
                        (Scalar::Text(text), Some(texts)) => texts.push(String::from(text)),
                        _ => texts = None,
                    }
                }
                Ok(Texts(texts))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
