//! Changes of Lua: signs, conditions, numbers, statements, what is returned.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use lockproof_lua::number;
use lockproof_lua::outline::{Part, Shape, StatementKind, What};

use super::{Change, Operator, Source};

/// What takes the place of a sign.
const SIGNS: [(&str, Operator, &[&str]); 12] = [
    ("==", Operator::Comparison, &["~="]),
    ("~=", Operator::Comparison, &["=="]),
    ("<", Operator::Comparison, &["<=", ">="]),
    ("<=", Operator::Comparison, &["<", ">"]),
    (">", Operator::Comparison, &[">=", "<="]),
    (">=", Operator::Comparison, &[">", "<"]),
    ("and", Operator::Logic, &["or"]),
    ("or", Operator::Logic, &["and"]),
    ("+", Operator::Arithmetic, &["-"]),
    ("-", Operator::Arithmetic, &["+"]),
    ("*", Operator::Arithmetic, &["/"]),
    ("/", Operator::Arithmetic, &["*"]),
];

/// Numbers from here on may be ms; a thousand is what lies between them and seconds.
const TIME_MIN: f64 = 100.0;

pub(super) fn changes(source: &Source<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let indices = indices(source);
    for part in source.parts() {
        let mut add = |operator, after: String| {
            changes.push(Change {
                operator,
                range: part.range.clone(),
                after,
            });
        };
        match &part.what {
            What::Operator(sign) => {
                let rows = SIGNS.iter().filter(|(known, ..)| known == sign);
                for (_, operator, others) in rows {
                    for other in *others {
                        add(*operator, (*other).into());
                    }
                }
            }
            What::Not => add(Operator::Negation, String::new()),
            What::Condition => {
                for value in ["true", "false"] {
                    add(Operator::Condition, value.into());
                }
            }
            What::Number(value) if !indices.contains(&part.range.start) => {
                for other in numbers(*value) {
                    add(Operator::Number, number::to_text(other));
                }
            }
            What::Word("true") => add(Operator::Boolean, "false".into()),
            What::Word("false") => add(Operator::Boolean, "true".into()),
            What::Statement { kind, .. } => {
                if matches!(kind, StatementKind::Call | StatementKind::Assign) {
                    add(Operator::Drop, String::new());
                }
            }
            What::Given if has_call(source, part) => {
                add(Operator::Drop, String::new());
            }
            What::Returned(shape) => {
                for value in returned(source, part, *shape) {
                    add(Operator::Return, (*value).into());
                }
            }
            _ => {}
        }
    }
    changes.extend(orders(source));
    changes
}

/// Where the numbers of keys and arguments begin: they are another operator's.
fn indices(source: &Source<'_>) -> BTreeSet<usize> {
    let is_element = |part: &&Part| matches!(part.what, What::Element { .. });
    let elements = source.parts().filter(is_element);
    let numbers = elements.flat_map(|part| source.within(&part.range));
    numbers
        .filter(|part| matches!(part.what, What::Number(_)))
        .map(|part| part.range.start)
        .collect()
}

/// Something is asked or done to find these values, in the function itself.
fn has_call(source: &Source<'_>, given: &Part) -> bool {
    let mut inside = source.within(&given.range);
    inside.any(|part| matches!(part.what, What::Call { .. }) && part.functions == given.functions)
}

fn numbers(value: f64) -> Vec<f64> {
    let mut others = vec![value + 1.0, value - 1.0, 0.0];
    if value >= TIME_MIN {
        others.extend([value * 1000.0, value / 1000.0]);
    }
    others
}

/// What a function may return in place of a value.
fn returned(source: &Source<'_>, part: &Part, shape: Shape) -> &'static [&'static str] {
    if source.is_script {
        return match shape {
            Shape::Truth => &["true", "false", "nil", "0", "1"],
            _ => &["0", "1", "nil"],
        };
    }
    match (shape, outcome(source.slice(&part.range))) {
        // A success is reported where there is none, or the other way round.
        (Shape::Call, Some("held")) => &["busy()"],
        (Shape::Call, Some("busy" | "failed")) => &["held()"],
        (Shape::Call, Some("lost")) => &["nil"],
        (Shape::Truth | Shape::Call, _) => &["true", "false", "nil"],
        (Shape::Number | Shape::Other, _) => &["0", "1", "nil"],
    }
}

/// The word of lock files with which an expression begins, if it is an outcome.
fn outcome(text: &str) -> Option<&'static str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = text.split(|c| !is_word(c)).next()?;
    let words = ["held", "busy", "failed", "lost"];
    words.into_iter().find(|word| *word == first)
}

/// Neighbouring statements in the other order. What ends a block can not go before anything.
fn orders(source: &Source<'_>) -> Vec<Change> {
    let statements = source.parts().filter_map(|part| match part.what {
        What::Statement { block, kind } => Some((block, kind, &part.range)),
        _ => None,
    });
    let mut last: BTreeMap<usize, &Range<usize>> = BTreeMap::new();
    let mut changes = Vec::new();
    for (block, kind, range) in statements {
        if let Some(before) = last.insert(block, range)
            && kind != StatementKind::Last
        {
            let between = source.slice(&(before.end..range.start));
            let (one, other) = (source.slice(before), source.slice(range));
            changes.push(Change {
                operator: Operator::Order,
                range: before.start..range.end,
                after: format!("{other}{between}{one}"),
            });
        }
    }
    changes
}
