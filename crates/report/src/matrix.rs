//! The matrix: rows are lock x property (and sizes), columns assumption sets.
//!
//! Every tabular rendering (page, Markdown, terminal) uses this one arrangement.
//! Columns stand in order of first appearance, because the run's own order goes
//! from no faults to many and says more than the alphabet would; rows likewise.

use lockproof_model::check::Sizes as Usual;
use lockproof_trace::{Assumption, words};

use super::model::{Cell, Report, Sizes};

/// The cells of a report, arranged.
pub struct Matrix<'a> {
    /// The assumption sets.
    pub columns: Vec<&'a [Assumption]>,
    /// The rows; those of one lock stand together.
    pub rows: Vec<Row<'a>>,
}

/// A row: one property of one lock at one size.
pub struct Row<'a> {
    pub lock: &'a str,
    pub property: &'a str,
    pub sizes: Sizes,
    /// One entry a column: the index of the cell in [`Report::cells`].
    pub cells: Vec<Option<usize>>,
}

impl<'a> Matrix<'a> {
    /// Arranges all cells of a report.
    pub fn new(report: &'a Report) -> Matrix<'a> {
        let mut columns: Vec<&[Assumption]> = Vec::new();
        for cell in &report.cells {
            if !columns.contains(&cell.assumptions.as_slice()) {
                columns.push(&cell.assumptions);
            }
        }
        // Stable: smaller sets first, the run's order within a size.
        columns.sort_by_key(|set| set.len());
        let mut rows: Vec<Row> = Vec::new();
        for (i, cell) in report.cells.iter().enumerate() {
            let column = columns
                .iter()
                .position(|c| *c == cell.assumptions.as_slice());
            let row = row_of(&mut rows, cell, columns.len());
            if let Some(column) = column {
                row.cells[column] = Some(i);
            }
        }
        let order: Vec<&str> = report.cells.iter().map(|c| c.lock.as_str()).collect();
        rows.sort_by_key(|row| order.iter().position(|name| *name == row.lock));
        Matrix { columns, rows }
    }

    /// Whether rows of one lock differ in their sizes, so that each must say its own.
    pub fn sizes_differ(&self, lock: &str) -> bool {
        let mut sizes = self.rows.iter().filter(|r| r.lock == lock).map(|r| r.sizes);
        let first = sizes.next();
        sizes.any(|s| Some(s) != first)
    }
}

fn row_of<'r, 'a>(rows: &'r mut Vec<Row<'a>>, cell: &'a Cell, columns: usize) -> &'r mut Row<'a> {
    let same = |row: &Row| {
        row.lock == cell.lock && row.property == cell.property && row.sizes == cell.sizes
    };
    let at = match rows.iter().position(same) {
        Some(at) => at,
        None => {
            rows.push(Row {
                lock: &cell.lock,
                property: &cell.property,
                sizes: cell.sizes,
                cells: vec![None; columns],
            });
            rows.len() - 1
        }
    };
    &mut rows[at]
}

/// Sizes in words: `2 clients, 1 node, lease 3 ticks`.
pub fn sizes_text(sizes: Sizes) -> String {
    size_words(sizes).join(", ")
}

/// Those of the sizes that are not the usual ones, in words: `3 nodes, lease 2 ticks`.
pub fn unusual_sizes(sizes: Sizes) -> String {
    let usual = size_words(Sizes {
        clients: Usual::CLIENTS,
        nodes: 1,
        ttl_ticks: Usual::TTL_TICKS.into(),
    });
    let words = size_words(sizes).into_iter().zip(usual);
    let unusual: Vec<String> = words
        .filter_map(|(is, usual)| (is != usual).then_some(is))
        .collect();
    unusual.join(", ")
}

fn size_words(sizes: Sizes) -> [String; 3] {
    [
        words::plural(u32::from(sizes.clients), "client"),
        words::plural(u32::from(sizes.nodes), "node"),
        format!("lease {}", words::plural(sizes.ttl_ticks, "tick")),
    ]
}
