//! Two callers of one process: what a lock file says that they share.

use lockproof_lua::{Key, Machine, Value};

/// What the first two clients have in common. By default nothing: each client is a process
/// of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Callers {
    /// They are two callers of one process: what strikes the process strikes both.
    pub two: bool,
    /// They use one owner id (`lock.owner`).
    pub owner: bool,
    /// They use one handle (`self`).
    pub handle: bool,
}

const SHAPE: &str = "`callers` must be 2, or {count = 2, owner = \"own\" or \"shared\", handle = \"own\" or \"shared\"}: \
                     two callers of one process; leave it out for one caller";

impl Callers {
    /// The same among so many clients: one alone has nobody to share anything with.
    #[must_use]
    pub fn among(self, clients: u8) -> Callers {
        match clients {
            0 | 1 => Callers::default(),
            _ => self,
        }
    }

    /// The other caller of a client's process, if it has one.
    pub fn partner(self, client: usize) -> Option<usize> {
        (self.two && client < 2).then(|| 1 - client)
    }
}

/// Reads the field `callers`.
///
/// # Errors
/// Says what it takes.
pub(super) fn declared(value: &Value, machine: &Machine) -> Result<Callers, String> {
    let two = |value: &Value| *value == Value::Number(2.0);
    let id = match value {
        Value::Nil => return Ok(Callers::default()),
        Value::Table(id) => *id,
        number if two(number) => {
            return Ok(Callers {
                two: true,
                ..Callers::default()
            });
        }
        _ => return Err(SHAPE.to_owned()),
    };
    let table = machine.heap.get(id);
    let known = ["count", "owner", "handle"].map(|name| Key::Text(name.into()));
    let odd = table.entries().find(|(key, _)| !known.contains(key));
    let shared = |name: &str| match table.field(name) {
        Value::Nil => Some(false),
        Value::Text(text) => match text.bytes() {
            b"own" => Some(false),
            b"shared" => Some(true),
            _ => None,
        },
        _ => None,
    };
    match (
        two(&table.field("count")),
        shared("owner"),
        shared("handle"),
        odd,
    ) {
        (true, Some(owner), Some(handle), None) => Ok(Callers {
            two: true,
            owner,
            handle,
        }),
        _ => Err(SHAPE.to_owned()),
    }
}
