//! File-level locals are constants; this is what holds a file to it.
//!
//! A lock file may keep helpers and constants in locals outside its functions.
//! If one of them changed while the lock runs, it would be memory that no local
//! state shows. So every variable of every function that the file made when it
//! was loaded is written down once, and compared after each input that ran Lua.
//! In return, those functions need no walk when a state is keyed.

use mlua::{Function, Table, Thread, Value};

use super::key::Encoder;
use super::snapshot::{Known, Roots, Snapshot, Trouble, Val};
use super::vm::Vm;
use super::walk;

/// Name and content of each variable.
type Variables = Vec<(String, Vec<u8>)>;

/// The file's functions and what their variables were.
pub(crate) struct Guard {
    functions: Vec<Function>,
    /// In the order of the functions.
    before: Variables,
    /// All of them in one, for the quick look after each input.
    whole: Vec<u8>,
}

impl Guard {
    /// Finds the functions of the file from the table that it returned, makes
    /// them known, and writes their variables down.
    pub fn new(
        vm: &Vm,
        known: &mut Known,
        pins: &Thread,
        file: &Table,
    ) -> mlua::Result<Result<Guard, Trouble>> {
        let values = [("the lock", Value::Table(file.clone()))];
        let roots = Roots {
            values: &values,
            ..Roots::default()
        };
        let (captured, closures) = walk::capture(vm, known, pins, &roots, true)?;
        let found = match captured {
            Ok(found) => found,
            Err(trouble) => return Ok(Err(trouble)),
        };
        if found
            .cells
            .iter()
            .any(|cell| holds_time(&found, cell.value))
        {
            return Ok(Err(Trouble {
                line: 0,
                message: "a file-level local holds a time; call now() inside an operation".into(),
            }));
        }
        let mut order: Vec<usize> = (0..closures.len()).collect();
        order.sort_by_key(|i| found.functions[*i].line);
        for i in &order {
            let node = &found.functions[*i];
            known.add(
                node.address as *const std::ffi::c_void,
                format!("the function of line {}", node.line),
            );
        }
        let with_variables = order
            .iter()
            .filter(|i| !found.functions[**i].cells.is_empty());
        let mut guard = Guard {
            functions: with_variables.map(|i| closures[*i].clone()).collect(),
            before: Vec::new(),
            whole: Vec::new(),
        };
        guard.whole = match guard.read(vm, known, pins, false)? {
            Ok(snapshot) => bytes(&snapshot, &snapshot.values),
            Err(trouble) => return Ok(Err(trouble)),
        };
        Ok(guard.read(vm, known, pins, true)?.map(|snapshot| {
            guard.before = each(&snapshot);
            guard
        }))
    }

    /// Are all variables what they were?
    pub fn check(
        &self,
        vm: &Vm,
        known: &Known,
        pins: &Thread,
    ) -> mlua::Result<Result<(), Trouble>> {
        if self.functions.is_empty() {
            return Ok(Ok(()));
        }
        match self.read(vm, known, pins, false)? {
            Ok(now) if bytes(&now, &now.values) == self.whole => return Ok(Ok(())),
            Ok(_) => {}
            Err(trouble) => return Ok(Err(trouble)),
        }
        Ok(self.read(vm, known, pins, true)?.and_then(|now| {
            let now = each(&now);
            let changed = now.iter().zip(&self.before).find(|(now, was)| now != was);
            // Two variables that shared a table show only in the whole: no name.
            let name = changed.map_or("?", |((name, _), _)| name);
            Err(Trouble {
                line: 0,
                message: format!(
                    "the file-level local `{name}` changed while the lock ran; a client's memory \
                     is `self`: write self.{name} instead"
                ),
            })
        }))
    }

    fn read(
        &self,
        vm: &Vm,
        known: &Known,
        pins: &Thread,
        names: bool,
    ) -> mlua::Result<Result<Snapshot, Trouble>> {
        let roots = Roots {
            variables_of: &self.functions,
            names,
            ..Roots::default()
        };
        Ok(walk::capture(vm, known, pins, &roots, false)?.0)
    }
}

fn each(snapshot: &Snapshot) -> Variables {
    let values = snapshot.values.iter().zip(&snapshot.names);
    values
        .map(|(value, name)| (name.clone(), bytes(snapshot, std::slice::from_ref(value))))
        .collect()
}

fn bytes(snapshot: &Snapshot, values: &[Val]) -> Vec<u8> {
    let mut to = Encoder::new(snapshot, 0, i64::MAX, &|text| text.to_vec());
    for value in values {
        to.value(*value);
    }
    to.out
}

fn holds_time(snapshot: &Snapshot, value: Val) -> bool {
    match value {
        Val::Time(_) => true,
        Val::Table(id) => snapshot.tables[id]
            .iter()
            .any(|(_, inner)| holds_time(snapshot, *inner)),
        _ => false,
    }
}
