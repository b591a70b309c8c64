//! What a lock file says of its lock to people who read about it.
//!
//! It goes into the lock's page in reports and nowhere else. The texts are bounded,
//! because a report carries them, and plain: whoever renders them decides what is markup.

use lockproof_input::nearest;

/// The longest text, in characters: a few short sentences.
pub(super) const CHARS_MAX: usize = 800;

const FIELDS: [&str; 3] = ["works", "claims", "repair"];

/// How a lock works, what is claimed for it, and how it is repaired. Each may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// How it works.
    pub works: Option<String>,
    /// What whoever described it says that it does.
    pub claims: Option<String>,
    /// What to do about what is wrong with it.
    pub repair: Option<String>,
}

/// What is wrong with the declaration.
pub(super) struct Fault {
    /// The field of `about` that is meant, if one is.
    field: Option<String>,
    /// Which value, and what it should be.
    pub message: String,
}

impl Fault {
    /// The names that lead to the place.
    pub fn path(&self) -> Vec<&str> {
        let field = self.field.as_deref();
        std::iter::once("about").chain(field).collect()
    }
}

/// `about` itself is something else.
pub(super) fn no_table(kind: &str) -> Fault {
    Fault {
        field: None,
        message: format!(
            "`about` must be a table, not a {kind}: about = {{ works = \"..\", claims = \"..\", repair = \"..\" }}"
        ),
    }
}

impl About {
    /// Takes one field; of what is no text, the name of its type is given.
    pub(super) fn set(&mut self, name: &str, value: Result<String, &str>) -> Result<(), Fault> {
        let fault = |message: String| Fault {
            field: Some(name.to_owned()),
            message,
        };
        let place = match name {
            "works" => &mut self.works,
            "claims" => &mut self.claims,
            "repair" => &mut self.repair,
            _ => {
                let hint = nearest::hint(name, &FIELDS);
                return Err(fault(format!("`about` has no field `{name}`; {hint}")));
            }
        };
        let text =
            value.map_err(|kind| fault(format!("`about.{name}` must be a text, not a {kind}")))?;
        // Long texts stand on several lines of the file.
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let length = text.chars().count();
        if length > CHARS_MAX {
            return Err(fault(format!(
                "`about.{name}` has {length} characters, and at most {CHARS_MAX} are shown; say it shorter"
            )));
        }
        *place = Some(text);
        Ok(())
    }
}
