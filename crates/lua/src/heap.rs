//! Tables, functions and shared locals, as plain data.
//!
//! A program's memory is copied whenever the model branches, and two programs
//! whose memories are equal are one state. So everything lies in numbered
//! lists, without addresses; what a file makes while it is loaded is frozen and
//! shared by all copies, and [`Heap::settle`] numbers the rest anew in the order
//! in which it is met, which also drops what nobody reaches any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::text::Text;
use super::value::{CellId, FunctionId, Native, TableId, Value};

/// What can be a table's key. Ordered, so that a table has one order to go
/// through it; which order Lua takes nobody promises.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The number's bits, in an order that is that of numbers.
    Number(i64),
    Text(Text),
    Bool(bool),
    Table(TableId),
    Function(FunctionId),
    Native(Native),
}

fn number_key(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn key_number(key: i64) -> f64 {
    f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64)
}

impl Key {
    /// The key that a value is; `None` for `nil`, NaN, and what has no fixed value.
    pub fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Bool(value) => Key::Bool(*value),
            Value::Number(value) if value.is_nan() => return None,
            Value::Number(value) => Key::Number(number_key(*value)),
            Value::Text(text) => Key::Text(text.clone()),
            Value::Table(id) => Key::Table(*id),
            Value::Function(id) => Key::Function(*id),
            Value::Native(native) => Key::Native(*native),
            _ => return None,
        })
    }

    /// The value again.
    pub fn value(&self) -> Value {
        match self {
            Key::Bool(value) => Value::Bool(*value),
            Key::Number(key) => Value::Number(key_number(*key)),
            Key::Text(text) => Value::Text(text.clone()),
            Key::Table(id) => Value::Table(*id),
            Key::Function(id) => Value::Function(*id),
            Key::Native(native) => Value::Native(*native),
        }
    }
}

/// A table: what stands at 1, 2, .., and the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub list: Vec<Value>,
    pub rest: BTreeMap<Key, Value>,
    pub meta: Option<TableId>,
    /// A program may not change it.
    pub locked: bool,
}

impl Table {
    /// The value of a key; `Nil` without one.
    pub fn get(&self, key: &Key) -> Value {
        if let Key::Number(number) = key
            && let Some(index) = list_index(*number)
            && let Some(value) = self.list.get(index)
        {
            return value.clone();
        }
        self.rest.get(key).cloned().unwrap_or(Value::Nil)
    }

    /// The value at a text key.
    pub fn field(&self, name: &str) -> Value {
        self.get(&Key::Text(Text::from(name)))
    }

    /// Sets a key, or removes it with `Nil`.
    pub fn set(&mut self, key: Key, value: Value) {
        if let Key::Number(number) = key
            && let Some(index) = list_index(number)
        {
            if index < self.list.len() {
                self.list[index] = value;
                return;
            }
            if index == self.list.len() && value != Value::Nil {
                self.rest.remove(&key);
                self.list.push(value);
                self.take_up();
                return;
            }
        }
        if value != Value::Nil {
            self.rest.insert(key, value);
        } else if let Some(entry) = self.rest.get_mut(&key) {
            // The key stays until the next [`Heap::settle`], so that somebody who
            // goes through the table and removes what he meets can go on.
            *entry = Value::Nil;
        }
    }

    /// Moves what follows the list into it.
    fn take_up(&mut self) {
        loop {
            let next = Key::Number(number_key(self.list.len() as f64 + 1.0));
            match self.rest.remove(&next) {
                Some(value) if value != Value::Nil => self.list.push(value),
                _ => return,
            }
        }
    }

    /// A border, as `#` gives: `t[n]` is something and `t[n + 1]` nothing.
    pub fn length(&self) -> usize {
        let n = self.list.len();
        if n == 0 || self.list[n - 1] != Value::Nil {
            return n;
        }
        // As Lua looks for one in its array part.
        let (mut low, mut high) = (0, n);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.list[middle - 1] == Value::Nil {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    /// More than one border: what `#` gives depends on how the table came about.
    pub fn has_holes(&self) -> bool {
        let last = self.list.iter().rposition(|value| *value != Value::Nil);
        let inside = last.is_some_and(|last| self.list[..last].contains(&Value::Nil));
        let first = number_key(self.list.len() as f64);
        let mut behind = self.rest.range(Key::Number(first)..Key::Number(i64::MAX));
        inside || behind.any(|(_, value)| *value != Value::Nil)
    }

    /// Every entry, in the order of [`Table::after`].
    pub fn entries(&self) -> impl Iterator<Item = (Key, Value)> + '_ {
        std::iter::successors(self.after(None), |(key, _)| self.after(Some(key)))
    }

    /// What stands at the whole number `index`, from 1.
    pub fn item(&self, index: usize) -> Value {
        let key = Key::of(&Value::Number(index as f64));
        key.map_or(Value::Nil, |key| self.get(&key))
    }

    /// The entry after `key`, from the first with `None`; the list comes first.
    pub fn after(&self, key: Option<&Key>) -> Option<(Key, Value)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let next_in_rest = |bound| {
            let later = self.rest.range((bound, Unbounded));
            let mut there = later.filter(|(_, value)| **value != Value::Nil);
            there
                .next()
                .map(|(key, value)| (key.clone(), value.clone()))
        };
        let from = match key {
            None => 0,
            Some(key) => match key {
                Key::Number(number) if self.in_list(*number).is_some() => {
                    self.in_list(*number).map_or(0, |index| index + 1)
                }
                key => return next_in_rest(Excluded(key)),
            },
        };
        let in_list = (from..self.list.len()).find(|index| self.list[*index] != Value::Nil);
        match in_list {
            Some(index) => {
                let key = Key::Number(number_key(index as f64 + 1.0));
                Some((key, self.list[index].clone()))
            }
            None => next_in_rest(Unbounded),
        }
    }

    /// The key has, or had, an entry.
    pub fn knows(&self, key: &Key) -> bool {
        let listed = matches!(key, Key::Number(number) if self.in_list(*number).is_some());
        listed || self.rest.contains_key(key)
    }

    fn in_list(&self, number: i64) -> Option<usize> {
        list_index(number).filter(|index| *index < self.list.len())
    }
}

/// The place in the list that a number key names.
fn list_index(key: i64) -> Option<usize> {
    let number = key_number(key);
    let whole = number >= 1.0 && number.fract() == 0.0 && number < 1e9;
    whole.then(|| number as usize - 1)
}

/// A function with the shared locals that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its place in the code.
    pub proto: u32,
    pub cells: Vec<CellId>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub tables: Vec<Table>,
    pub functions: Vec<Function>,
    pub cells: Vec<Value>,
}

/// A program's memory.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    frozen: Arc<Store>,
    live: Store,
}

impl Heap {
    /// From now on, what is there cannot be changed.
    pub fn freeze(&mut self) {
        let mut store = (*self.frozen).clone();
        store.tables.append(&mut self.live.tables);
        store.functions.append(&mut self.live.functions);
        store.cells.append(&mut self.live.cells);
        self.frozen = Arc::new(store);
    }

    /// Forgets all that is not frozen.
    pub fn clear(&mut self) {
        self.live = Store::default();
    }

    /// True if the table was there when the heap was frozen.
    pub fn is_frozen(&self, id: TableId) -> bool {
        (id.0 as usize) < self.frozen.tables.len()
    }

    /// Entries and values in use that are not frozen, to bound memory by.
    pub fn size(&self) -> usize {
        let live = &self.live;
        live.tables.len() + live.functions.len() + live.cells.len()
    }

    /// A new table.
    pub fn table(&mut self, table: Table) -> TableId {
        let id = self.frozen.tables.len() + self.live.tables.len();
        self.live.tables.push(table);
        TableId(id as u32)
    }

    /// A new function.
    pub fn function(&mut self, function: Function) -> FunctionId {
        let id = self.frozen.functions.len() + self.live.functions.len();
        self.live.functions.push(function);
        FunctionId(id as u32)
    }

    /// A new shared local.
    pub fn cell(&mut self, value: Value) -> CellId {
        let id = self.frozen.cells.len() + self.live.cells.len();
        self.live.cells.push(value);
        CellId(id as u32)
    }

    /// A table.
    #[inline]
    pub fn get(&self, id: TableId) -> &Table {
        let at = id.0 as usize;
        match at.checked_sub(self.frozen.tables.len()) {
            Some(live) => &self.live.tables[live],
            None => &self.frozen.tables[at],
        }
    }

    /// A table that may be changed; `None` if it is frozen.
    #[inline]
    pub fn get_mut(&mut self, id: TableId) -> Option<&mut Table> {
        let live = (id.0 as usize).checked_sub(self.frozen.tables.len())?;
        self.live.tables.get_mut(live)
    }

    /// A table that a program may change.
    #[inline]
    pub fn open_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.get_mut(id).filter(|table| !table.locked)
    }

    /// A function.
    #[inline]
    pub fn function_of(&self, id: FunctionId) -> &Function {
        let at = id.0 as usize;
        match at.checked_sub(self.frozen.functions.len()) {
            Some(live) => &self.live.functions[live],
            None => &self.frozen.functions[at],
        }
    }

    /// The value of a shared local.
    #[inline]
    pub fn cell_of(&self, id: CellId) -> &Value {
        let at = id.0 as usize;
        match at.checked_sub(self.frozen.cells.len()) {
            Some(live) => &self.live.cells[live],
            None => &self.frozen.cells[at],
        }
    }

    /// Sets a shared local; false if it is frozen.
    #[inline]
    pub fn set_cell(&mut self, id: CellId, value: Value) -> bool {
        let Some(live) = (id.0 as usize).checked_sub(self.frozen.cells.len()) else {
            return false;
        };
        self.live.cells[live] = value;
        true
    }

    /// Numbers everything anew in the order in which `roots` leads to it, and
    /// drops the rest. `roots` is called with a function for each value to keep.
    pub fn settle(&mut self, roots: impl FnOnce(&mut dyn FnMut(&mut Value))) {
        let mut mover = Mover {
            frozen: Arc::clone(&self.frozen),
            from: std::mem::take(&mut self.live),
            to: Store::default(),
            tables: BTreeMap::new(),
            functions: BTreeMap::new(),
            cells: BTreeMap::new(),
            open: Vec::new(),
        };
        roots(&mut |value| mover.value(value));
        mover.finish();
        self.live = mover.to;
    }

    /// Rewrites every live value in place.
    pub fn for_each_value(&mut self, f: &mut dyn FnMut(&mut Value)) {
        for cell in &mut self.live.cells {
            f(cell);
        }
        for table in &mut self.live.tables {
            table.list.iter_mut().for_each(&mut *f);
            let rest = std::mem::take(&mut table.rest);
            for (key, mut value) in rest {
                f(&mut value);
                let mut key = key.value();
                f(&mut key);
                if let Some(key) = Key::of(&key) {
                    table.rest.insert(key, value);
                }
            }
        }
    }

    /// The live part, for comparison and for messages.
    pub fn live(&self) -> &Store {
        &self.live
    }

    /// How many tables, functions and cells are frozen.
    pub fn frozen_counts(&self) -> (usize, usize, usize) {
        let frozen = &self.frozen;
        (
            frozen.tables.len(),
            frozen.functions.len(),
            frozen.cells.len(),
        )
    }
}

enum Open {
    Table(u32),
    Cell(u32),
}

struct Mover {
    frozen: Arc<Store>,
    from: Store,
    to: Store,
    tables: BTreeMap<u32, u32>,
    functions: BTreeMap<u32, u32>,
    cells: BTreeMap<u32, u32>,
    /// New numbers whose content still names old ones.
    open: Vec<Open>,
}

impl Mover {
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Table(id) => *id = self.table(*id),
            Value::Function(id) => *id = self.function(*id),
            Value::Cell(id) => *id = self.cell(*id),
            _ => {}
        }
    }

    fn table(&mut self, id: TableId) -> TableId {
        let Some(live) = id.0.checked_sub(self.frozen.tables.len() as u32) else {
            return id;
        };
        if let Some(new) = self.tables.get(&live) {
            return TableId(*new);
        }
        let content = std::mem::take(&mut self.from.tables[live as usize]);
        let at = self.to.tables.len() as u32;
        self.to.tables.push(content);
        let new = at + self.frozen.tables.len() as u32;
        self.tables.insert(live, new);
        self.open.push(Open::Table(at));
        TableId(new)
    }

    fn cell(&mut self, id: CellId) -> CellId {
        let Some(live) = id.0.checked_sub(self.frozen.cells.len() as u32) else {
            return id;
        };
        if let Some(new) = self.cells.get(&live) {
            return CellId(*new);
        }
        let content = std::mem::replace(&mut self.from.cells[live as usize], Value::Nil);
        let at = self.to.cells.len() as u32;
        self.to.cells.push(content);
        let new = at + self.frozen.cells.len() as u32;
        self.cells.insert(live, new);
        self.open.push(Open::Cell(at));
        CellId(new)
    }

    fn function(&mut self, id: FunctionId) -> FunctionId {
        let Some(live) = id.0.checked_sub(self.frozen.functions.len() as u32) else {
            return id;
        };
        if let Some(new) = self.functions.get(&live) {
            return FunctionId(*new);
        }
        let mut function = self.from.functions[live as usize].clone();
        let at = self.to.functions.len() as u32;
        let new = at + self.frozen.functions.len() as u32;
        self.functions.insert(live, new);
        self.to.functions.push(function.clone());
        for cell in &mut function.cells {
            *cell = self.cell(*cell);
        }
        self.to.functions[at as usize] = function;
        FunctionId(new)
    }

    fn finish(&mut self) {
        while let Some(open) = self.open.pop() {
            match open {
                Open::Cell(at) => {
                    let mut value = std::mem::replace(&mut self.to.cells[at as usize], Value::Nil);
                    self.value(&mut value);
                    self.to.cells[at as usize] = value;
                }
                Open::Table(at) => {
                    let mut table = std::mem::take(&mut self.to.tables[at as usize]);
                    for value in &mut table.list {
                        self.value(value);
                    }
                    let rest = std::mem::take(&mut table.rest);
                    for (key, mut value) in rest {
                        if value == Value::Nil {
                            continue;
                        }
                        let mut key = key.value();
                        self.value(&mut key);
                        self.value(&mut value);
                        if let Some(key) = Key::of(&key) {
                            table.rest.insert(key, value);
                        }
                    }
                    table.meta = table.meta.map(|id| self.table(id));
                    self.to.tables[at as usize] = table;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> Key {
        Key::Number(number_key(value))
    }

    #[test]
    fn numbers_keep_their_order_as_keys() {
        let sorted = [f64::NEG_INFINITY, -2.5, -1.0, 0.0, 0.5, 3.0, f64::INFINITY];
        assert!(
            sorted
                .windows(2)
                .all(|pair| number(pair[0]) < number(pair[1]))
        );
        assert!(
            sorted
                .iter()
                .all(|n| number(*n).value() == Value::Number(*n))
        );
        assert_eq!(number(-0.0), number(0.0));
    }

    #[test]
    fn what_comes_in_order_is_a_list_whatever_came_first() {
        let mut table = Table::default();
        for n in [3.0, 1.0, 2.0] {
            table.set(number(n), Value::Number(n));
        }
        assert_eq!(table.length(), 3);
        assert!(table.rest.is_empty());
        table.set(number(3.0), Value::Nil);
        assert_eq!(table.length(), 2);
        let keys: Vec<Key> = table.entries().map(|(key, _)| key).collect();
        assert_eq!(keys, [number(1.0), number(2.0)]);
    }

    #[test]
    fn settling_drops_what_nobody_reaches_and_numbers_the_rest_by_its_roots() {
        let mut heap = Heap::default();
        let lost = heap.table(Table::default());
        let inner = heap.table(Table::default());
        let mut outer = Table::default();
        outer.set(number(1.0), Value::Table(inner));
        let outer = heap.table(outer);
        let mut root = Value::Table(outer);
        heap.settle(|keep| keep(&mut root));
        assert_eq!(root, Value::Table(TableId(0)));
        assert_eq!(heap.get(TableId(0)).list, [Value::Table(TableId(1))]);
        assert_eq!(heap.size(), 2);
        assert_eq!(lost, TableId(0));
    }
}
