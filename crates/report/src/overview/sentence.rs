//! A sentence of each lock that can be quoted: what it survives, and what breaks it.

use lockproof_trace::words;

use super::super::sets::listed;
use super::{Column, Met, Overview, OverviewRow, What};

/// More sets than this are not named one by one.
const NAMED_MAX: usize = 6;

/// A sentence or three of each lock, in the order of the table.
pub fn sentences(table: &Overview) -> Vec<(String, String)> {
    let rows = table.rows.iter();
    rows.map(|row| (words::printable(row.lock), row.sentence(&table.columns)))
        .collect()
}

impl OverviewRow<'_> {
    /// What the lock survives, in sentences without its name: `breaks under 2 of 5 sets of faults:
    /// two believers under client-pause and overrun. Safe without faults and under loss. ..`
    pub fn sentence(&self, columns: &[Column]) -> String {
        let asked: Vec<Asked> = columns
            .iter()
            .zip(&self.met)
            .filter_map(|(column, met)| met.map(|met| (column, met)))
            .collect();
        let named = |want: fn(&Met) -> bool| -> Vec<&Column> {
            let those = asked.iter().filter(|(_, met)| want(met));
            those.map(|(column, _)| *column).collect()
        };
        let safe = named(|met| matches!(met.what, What::Safe));
        let unknown = named(|met| matches!(met.what, What::Unknown));
        if let [(column, met)] = asked.as_slice()
            && met.is_bad()
        {
            let steps = met.steps.map(|steps| words::plural(steps as u32, "step"));
            let steps = steps.map_or(String::new(), |steps| format!(" in {steps}"));
            return format!("breaks {}: {}{steps}.", under(&[column]), met.words());
        }
        let sets = words::plural(self.of as u32, "set");
        let mut out = match (self.breaks, unknown.len()) {
            (0, 0) if self.of == 1 => return format!("is safe {}.", under(&safe)),
            (0, _) if self.of == 1 => {
                return format!("is not known to be safe {}.", under(&unknown));
            }
            (0, 0) => return format!("is safe under all {sets} of faults that were asked for."),
            (0, _) => format!("is not known to break under any of {sets} of faults."),
            (breaks, _) => format!(
                "breaks under {breaks} of {sets} of faults: {}.",
                kinds(&asked)
            ),
        };
        if !safe.is_empty() {
            out += &format!(" Safe {}.", under(&safe));
        }
        if !unknown.is_empty() {
            out += &format!(" Not known {}.", under(&unknown));
        }
        out + &shortest(&asked)
    }
}

/// A set, and what happens there.
type Asked<'t> = (&'t Column, Met<'t>);

/// The kinds of violation, the worst first, each with its sets.
fn kinds(asked: &[Asked]) -> String {
    let mut bad: Vec<&Asked> = asked.iter().filter(|(_, met)| met.is_bad()).collect();
    bad.sort_by_key(|(_, met)| (met.order().0, met.order().1));
    let same = |one: &&Asked, other: &&Asked| one.1.words() == other.1.words();
    let kinds = bad.chunk_by(same).map(|chunk| {
        let columns: Vec<&Column> = chunk.iter().map(|(column, _)| *column).collect();
        format!("{} {}", chunk[0].1.words(), under(&columns))
    });
    kinds.collect::<Vec<_>>().join("; ")
}

/// The smallest set that breaks the lock, and how fast; of several the one with the shortest trace.
fn shortest(asked: &[Asked]) -> String {
    let bad = asked.iter().filter(|(_, met)| met.is_bad());
    let shown = bad.filter_map(|(column, met)| Some((*column, met, met.steps?)));
    match shown.min_by_key(|(column, _, steps)| (column.faults, *steps)) {
        Some((column, met, steps)) => format!(
            " The smallest set that breaks it: {}, {} in {}.",
            column.words,
            met.words(),
            words::plural(steps as u32, "step")
        ),
        None => String::new(),
    }
}

/// `without faults and under loss and delay`.
fn under(columns: &[&Column]) -> String {
    let none = columns.iter().any(|column| column.faults == 0);
    let with = columns.iter().filter(|column| column.faults > 0);
    let faults: Vec<&str> = with.map(|column| column.words.as_str()).collect();
    let named = match faults.len() {
        0 => None,
        // "And 1 more" is no shorter than its name.
        count if count == NAMED_MAX + 1 => Some(listed(&faults, "and", count)),
        _ => Some(listed(&faults, "and", NAMED_MAX)),
    };
    let named = named.map(|names| format!("under {names}"));
    let none = none.then(|| "without faults".to_owned());
    let parts: Vec<String> = none.into_iter().chain(named).collect();
    parts.join(" and ")
}
