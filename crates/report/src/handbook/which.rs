//! The page that says which lock to use.

use lockproof_model::check::Verdict;
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES, Property, Safety};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde::Serialize;

use super::super::lock_pages::file_name;
use super::super::markdown::text;
use super::super::model::{Cell, Report};
use super::super::overview::{Overview, OverviewRow, What, consequence};
use super::language::Language;
use super::links;
use super::verdicts::Verdicts;

/// The tables: which lock survives which of the faults that most locks were asked about.
#[derive(Serialize)]
pub(super) struct Which {
    locks: usize,
    columns: Vec<String>,
    /// The locks that were asked about all of these faults ..
    whole: Vec<Row>,
    /// .. and those that were not.
    part: Vec<Row>,
    /// The letters of the tables, and what they mean.
    letters: Vec<(&'static str, String)>,
    /// Who explains fencing: a name and an address.
    fencing: (String, &'static str),
}

#[derive(Serialize)]
struct Row {
    name: String,
    page: String,
    breaks: usize,
    asked: usize,
    cells: Vec<&'static str>,
}

impl Which {
    pub fn new(report: &Report, language: &Language) -> Which {
        let common = common(report);
        let table = Overview::new(&common);
        let mut rows: Vec<&OverviewRow> = table.rows.iter().collect();
        rows.sort_by_key(|row| (row.breaks * 100 / row.of.max(1), mildness(row)));
        let (whole, part): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.of == row.met.len());
        let letters = table.consequences().into_iter();
        let letters = letters.map(|row| (row.code, (language.property)(row.property).violation));
        let belief = Property::Safety(Safety::Belief).consequence().1;
        Which {
            locks: table.rows.len(),
            columns: columns(&common),
            whole: whole.into_iter().map(Row::new).collect(),
            part: part.into_iter().map(Row::new).collect(),
            letters: letters.collect(),
            fencing: (super::host(belief.source), belief.source),
        }
    }
}

impl Row {
    fn new(row: &OverviewRow) -> Row {
        let cells = row.met.iter().map(|met| met.map_or("·", |met| met.code()));
        Row {
            name: text(row.lock),
            page: file_name(row.lock),
            breaks: row.breaks,
            asked: row.of,
            cells: cells.collect(),
        }
    }
}

/// What happens to a lock, worse things first: of two that break as often, the one to which milder
/// things happen is better.
fn mildness(row: &OverviewRow) -> Vec<usize> {
    let rank = |what: What| match what {
        What::Breaks(property) => consequence(property).map_or(0, |(rank, _)| rank),
        What::Contradicted => 0,
        What::Safe | What::Unknown => CONSEQUENCES_MAX,
    };
    let met = row.met.iter().flatten();
    let mut ranks: Vec<usize> = met.map(|met| CONSEQUENCES_MAX - rank(met.what)).collect();
    ranks.sort_unstable_by(|one, other| other.cmp(one));
    ranks
}

/// No rank is higher.
const CONSEQUENCES_MAX: usize = lockproof_model::world::catalogue::CONSEQUENCES.len();

/// The cells without faults, and with one that at least half of the locks were asked about: a lock
/// that was asked little would else survive most. A fault is one column, whatever its size.
fn common(report: &Report) -> Report {
    let verdicts = Verdicts::new(report);
    let asked = |fault: &&str| {
        let asked = (0..verdicts.locks().len()).filter(|at| verdicts.asked(*at, &[fault]));
        asked.count() * 2 >= verdicts.locks().len()
    };
    let ids = FAULTS.iter().map(|info| info.id);
    let kept: Vec<&str> = ids.filter(asked).collect();
    let mut common = Report {
        cells: report
            .cells
            .iter()
            .filter(|cell| is_common(cell, &kept))
            .cloned()
            .collect(),
        counterexamples: Vec::new(),
        locks: Vec::new(),
        ..report.clone()
    };
    for one in common
        .cells
        .iter_mut()
        .flat_map(|cell| &mut cell.assumptions)
    {
        (one.budget, one.size) = (1, 0);
    }
    common
}

fn is_common(cell: &Cell, kept: &[&str]) -> bool {
    match cell.assumptions.as_slice() {
        [] => true,
        [one] => kept.contains(&one.name.as_str()),
        _ => false,
    }
}

/// The names of the columns, without sizes: an empty text stands for no faults.
fn columns(common: &Report) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let name = |cell: &Cell| {
        cell.assumptions
            .first()
            .map_or(String::new(), |one| one.name.clone())
    };
    let mut cells: Vec<&Cell> = common.cells.iter().collect();
    cells.sort_by_key(|cell| cell.assumptions.len());
    for cell in cells {
        let name = name(cell);
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    columns
}

/// Gives templates two functions. `meeting([..])` names the locks that meet all of its demands, such
/// as `lease@loss` (it holds under this fault alone), `lease@` (without faults) and `*@loss` (every
/// property that was asked for there). `ask(demand, among)` is the answer of the locks that meet
/// the demands `among`.
pub(super) fn answer(environment: &mut Environment, verdicts: &Verdicts, language: &Language) {
    let answers = std::sync::Arc::new(Answers::new(verdicts));
    let (named, split, language) = (answers.clone(), answers, *language);
    environment.add_function("meeting", move |demands: Vec<String>| {
        Ok::<_, Error>(links(named.meeting(&demands)?, &language))
    });
    environment.add_function("ask", move |demand: String, among: Vec<String>| {
        split.ask(&demand, &among, &language)
    });
}

/// Every verdict that a template can ask for.
struct Answers {
    locks: Vec<String>,
    /// A demand, and each lock's verdict.
    verdicts: std::collections::BTreeMap<String, Vec<Option<Verdict>>>,
}

#[derive(Serialize)]
struct Answer {
    /// The locks; of the longer list `None` if it is very long.
    holds: Option<String>,
    breaks: Option<String>,
    holding: usize,
    breaking: usize,
}

/// More locks than these are counted, if the others are named.
const NAMED_MAX: usize = 8;

impl Answers {
    fn new(verdicts: &Verdicts) -> Answers {
        let mut all = std::collections::BTreeMap::new();
        let sets = FAULTS.iter().map(|info| vec![info.id]);
        for set in sets.chain([vec![], vec!["failover", "min-replicas"]]) {
            let name = set.join("+");
            let mut every = vec![None; verdicts.locks().len()];
            for property in &PROPERTIES {
                let each = (0..every.len()).map(|at| verdicts.verdict(at, property.id, &set));
                let each: Vec<Option<Verdict>> = each.collect();
                for (known, one) in every.iter_mut().zip(&each) {
                    *known = worse(*known, *one);
                }
                all.insert(format!("{}@{name}", property.id), each);
            }
            all.insert(format!("*@{name}"), every);
        }
        let locks = verdicts.locks().iter().map(|lock| (*lock).to_owned());
        Answers {
            locks: locks.collect(),
            verdicts: all,
        }
    }

    fn of(&self, demand: &str) -> Result<&[Option<Verdict>], Error> {
        let found = self.verdicts.get(demand).map(Vec::as_slice);
        found.ok_or_else(|| {
            let message = format!("{demand:?} is no property, `@` and a fault");
            Error::new(ErrorKind::InvalidOperation, message)
        })
    }

    fn meeting(&self, demands: &[String]) -> Result<Vec<&str>, Error> {
        let answers: Result<Vec<_>, Error> = demands.iter().map(|one| self.of(one)).collect();
        let answers = answers?;
        let meets = |at: &usize| answers.iter().all(|all| all[*at] == Some(Verdict::Holds));
        let places = (0..self.locks.len()).filter(meets);
        Ok(places.map(|at| self.locks[at].as_str()).collect())
    }

    fn ask(&self, demand: &str, among: &[String], language: &Language) -> Result<Value, Error> {
        let among = self.meeting(among)?;
        let answers = self.locks.iter().zip(self.of(demand)?);
        let with = |verdict| -> Vec<&str> {
            let with = answers.clone().filter(|(_, one)| **one == Some(verdict));
            with.map(|(lock, _)| lock.as_str())
                .filter(|lock| among.contains(lock))
                .collect()
        };
        let (holds, breaks) = (with(Verdict::Holds), with(Verdict::Violated));
        let named = |list: &[&str], other: &[&str]| {
            let short = list.len() <= NAMED_MAX || list.len() <= other.len();
            short.then(|| links(list.iter().copied(), language))
        };
        Ok(Value::from(Serde(Answer {
            holds: named(&holds, &breaks),
            breaks: named(&breaks, &holds),
            holding: holds.len(),
            breaking: breaks.len(),
        })))
    }
}

/// The worse of what is known.
fn worse(one: Option<Verdict>, other: Option<Verdict>) -> Option<Verdict> {
    let order = |verdict: &Verdict| match verdict {
        Verdict::Violated => 0,
        Verdict::Unknown => 1,
        Verdict::Holds => 2,
    };
    one.into_iter().chain(other).min_by_key(order)
}
