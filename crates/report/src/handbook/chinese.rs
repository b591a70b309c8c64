//! The Chinese words of what the catalogue and the built-in locks say in English.
//!
//! They stand in TOML beside this file, which a translator can edit. Each entry has a fingerprint
//! of the English that it translates, so that a test can name what has changed since. What has no
//! entry is said in English; the same test rules that out for what is built in.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use lockproof_model::world::catalogue::{Fault, FaultInfo, Property, PropertyInfo};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::super::model::{About, LockText};
use super::language::{FaultWords, PropertyWords, english_fault, english_property};

/// Names of entries, in each of the files.
type Entries<T> = BTreeMap<String, T>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultEntry {
    english: String,
    plain: String,
    meaning: String,
    cause: String,
    remedy: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertyEntry {
    english: String,
    plain: String,
    meaning: String,
    violation: String,
    cause: String,
    remedy: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockEntry {
    english: String,
    description: String,
    works: Option<String>,
    claims: Option<String>,
    repair: Option<String>,
}

macro_rules! entries {
    ($name:ident, $type:ty, $file:literal) => {
        fn $name() -> &'static Entries<$type> {
            static READ: OnceLock<Entries<$type>> = OnceLock::new();
            READ.get_or_init(|| {
                let text = include_str!(concat!("zh-CN/", $file));
                toml::from_str(text).expect("a file of ours, which a test reads")
            })
        }
    };
}
entries!(faults, FaultEntry, "faults.toml");
entries!(properties, PropertyEntry, "properties.toml");
entries!(locks, LockEntry, "locks.toml");

/// What stands in a file of words: the name of each entry, and the fingerprint of its English.
pub type Fingerprints = BTreeMap<&'static str, &'static str>;

/// The entries of faults, of properties and of locks.
pub fn translated() -> [Fingerprints; 3] {
    [
        faults()
            .iter()
            .map(|(id, one)| (id.as_str(), one.english.as_str()))
            .collect(),
        properties()
            .iter()
            .map(|(id, one)| (id.as_str(), one.english.as_str()))
            .collect(),
        locks()
            .iter()
            .map(|(id, one)| (id.as_str(), one.english.as_str()))
            .collect(),
    ]
}

/// The fingerprint that the entry of a fault must have.
pub fn fault_fingerprint(info: &FaultInfo) -> String {
    let words = english_fault(info.fault);
    fingerprint(&[&words.plain, &words.meaning, &words.cause, &words.remedy])
}

/// The same of a property.
pub fn property_fingerprint(info: &PropertyInfo) -> String {
    let words = english_property(info.property);
    let violation = &words.violation;
    fingerprint(&[
        &words.plain,
        &words.meaning,
        violation,
        &words.cause,
        &words.remedy,
    ])
}

/// The same of a lock.
pub fn lock_fingerprint(description: &str, about: &About) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let (works, claims, repair) = (part(&about.works), part(&about.claims), part(&about.repair));
    fingerprint(&[description, &works, &claims, &repair])
}

/// The first letters of a hash of texts, in which line breaks do not count.
fn fingerprint(texts: &[&str]) -> String {
    let line = |text: &&str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = texts.iter().map(line).collect();
    let hash = Sha256::digest(lines.join("\n"));
    hash.iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

pub(super) fn fault(fault: Fault) -> FaultWords {
    match faults().get(fault.info().id) {
        Some(words) => FaultWords {
            plain: words.plain.clone(),
            meaning: words.meaning.clone(),
            cause: words.cause.clone(),
            remedy: words.remedy.clone(),
        },
        None => english_fault(fault),
    }
}

pub(super) fn property(property: Property) -> PropertyWords {
    match properties().get(property.info().id) {
        Some(words) => PropertyWords {
            plain: words.plain.clone(),
            meaning: words.meaning.clone(),
            violation: words.violation.clone(),
            cause: words.cause.clone(),
            remedy: words.remedy.clone(),
        },
        None => english_property(property),
    }
}

/// What a property means; in English, if it has no entry.
pub(in super::super) fn meaning(id: &str, english: &str) -> String {
    let words = properties().get(id);
    words.map_or(english.to_owned(), |words| words.meaning.clone())
}

/// What is said of a built-in lock.
pub(in super::super) fn about(lock: &LockText) -> (String, About) {
    match locks().get(&lock.name) {
        Some(words) => {
            let about = About {
                works: words.works.clone(),
                claims: words.claims.clone(),
                repair: words.repair.clone(),
            };
            (words.description.clone(), about)
        }
        None => (lock.description.clone(), lock.about.clone()),
    }
}
