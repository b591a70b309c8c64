//! Changes of JSON and TOML as trees: what comes out has the right form, so that
//! it gets past the parser and to what is behind it.

use rand::{Rng, RngExt};
use serde_json::{Map, Value, json};

use super::{pick, word};
use crate::targets::{Form, Target};

/// Changes a value of the tree; false if the input is none.
pub fn change(target: &Target, seeds: &[Vec<u8>], input: &mut Vec<u8>, rng: &mut impl Rng) -> bool {
    let Some(text) = std::str::from_utf8(input).ok() else {
        return false;
    };
    let changed = match target.form {
        Form::Json => whole(text, target, seeds, rng),
        Form::JsonLines => one_line(text, target, seeds, rng),
        Form::Toml => toml(text, target, seeds, rng),
        Form::Bytes | Form::Text => None,
    };
    let done = changed.is_some();
    if let Some(changed) = changed {
        *input = changed.into_bytes();
    }
    done
}

fn whole(text: &str, target: &Target, seeds: &[Vec<u8>], rng: &mut impl Rng) -> Option<String> {
    let mut tree: Value = serde_json::from_str(text).ok()?;
    let donor = pick(seeds, rng).and_then(|seed| serde_json::from_slice(seed).ok());
    in_tree(target, &mut tree, donor, rng);
    Some(tree.to_string())
}

fn one_line(text: &str, target: &Target, seeds: &[Vec<u8>], rng: &mut impl Rng) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = rng.random_range(0..lines.len().max(1));
    let mut tree: Value = serde_json::from_str(lines.get(at)?).ok()?;
    let donor = pick(seeds, rng).and_then(|seed| {
        let lines: Vec<&[u8]> = seed.split(|byte| *byte == b'\n').collect();
        serde_json::from_slice(pick(&lines, rng)?).ok()
    });
    in_tree(target, &mut tree, donor, rng);
    lines[at] = tree.to_string();
    Some(lines.join("\n") + "\n")
}

fn toml(text: &str, target: &Target, seeds: &[Vec<u8>], rng: &mut impl Rng) -> Option<String> {
    let mut tree: Value = toml::from_str(text).ok()?;
    let donor =
        pick(seeds, rng).and_then(|seed| toml::from_str(std::str::from_utf8(seed).ok()?).ok());
    in_tree(target, &mut tree, donor, rng);
    toml::to_string(&tree).ok()
}

fn in_tree(target: &Target, tree: &mut Value, donor: Option<Value>, rng: &mut impl Rng) {
    let count = size(tree);
    // The smaller a value, the more often it is meant: leaves are most of a tree.
    let at = rng.random_range(0..count);
    let replacement = match rng.random_range(0..6) {
        0 => donor.and_then(|donor| some_value(&donor, rng)),
        1 => some_value(tree, rng),
        2 => Some(Value::String(text(target, rng))),
        3 => serde_json::from_str(super::numbers::edge(rng)).ok(),
        4 => Some(odd(rng)),
        _ => None,
    };
    let Some(found) = nth(tree, &mut { at }) else {
        return;
    };
    match replacement {
        Some(value) => *found = value,
        None => rearrange(target, found, rng),
    }
}

fn text(target: &Target, rng: &mut impl Rng) -> String {
    const HOSTILE: [&str; 12] = [
        "",
        "\u{1b}[2J",
        "a\nb",
        "\r",
        "\u{0}",
        "<script>alert(1)</script>",
        "\u{202e}x",
        "\u{fffe}",
        "]]>",
        "../../etc/passwd",
        "'\"`|&",
        "\u{1f512}",
    ];
    match rng.random_range(0..4) {
        0 => HOSTILE[rng.random_range(0..HOSTILE.len())].to_owned(),
        1 => "x".repeat([64, 5000][rng.random_range(0..2)]),
        _ => String::from_utf8_lossy(&word(target, rng)).into_owned(),
    }
}

fn odd(rng: &mut impl Rng) -> Value {
    let odd = [
        Value::Null,
        json!(true),
        json!([]),
        json!({}),
        json!([[[[]]]]),
        json!(-0.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
    ];
    odd[rng.random_range(0..odd.len())].clone()
}

/// Takes out a part of it, doubles one, or gives one another name.
fn rearrange(target: &Target, value: &mut Value, rng: &mut impl Rng) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let (a, b) = (
                rng.random_range(0..items.len()),
                rng.random_range(0..items.len()),
            );
            match rng.random_range(0..4) {
                0 => drop(items.remove(a)),
                1 => items.swap(a, b),
                2 => items.insert(a, items[b].clone()),
                _ => items.truncate(a),
            }
        }
        Value::Object(fields) if !fields.is_empty() => rename(target, fields, rng),
        other => *other = Value::Array(vec![other.take()]),
    }
}

fn rename(target: &Target, fields: &mut Map<String, Value>, rng: &mut impl Rng) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let Some(name) = pick(&names, rng) else {
        return;
    };
    let removed = fields.remove(name);
    if rng.random() {
        fields.insert(text(target, rng), removed.unwrap_or_default());
    }
}

fn some_value(tree: &Value, rng: &mut impl Rng) -> Option<Value> {
    let mut tree = tree.clone();
    let mut at = rng.random_range(0..size(&tree));
    nth(&mut tree, &mut at).map(Value::take)
}

/// How many values there are in it, itself included.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// The value of this number, counted from 0 at the root.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    };
    for one in inner {
        let size = size(one);
        if *left < size {
            return nth(one, left);
        }
        *left -= size;
    }
    None
}
