//! A client's transaction as one message.
//!
//! A client sends MULTI, its commands and EXEC in one go, and what it learns is what EXEC
//! replies. So lock files, the model and traces have it as one command line: `MULTI`, whether
//! it is guarded, and then each command with the number of its words before it.

use super::Bytes;

/// What stands behind `MULTI`, in this order: unguarded, guarded.
const GUARDS: [&[u8]; 2] = [b"plain", b"watched"];

/// A transaction that is one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multi<'a, W> {
    /// Its client has keys watched, and wants it only if they have not changed. If the
    /// connection on which it watched them is gone, it does not send it.
    pub guarded: bool,
    /// Its commands, in order.
    pub commands: Vec<&'a [W]>,
}

impl<'a, W: AsRef<[u8]>> Multi<'a, W> {
    /// Reads a command line that is a transaction; `None` for any other.
    pub fn of(argv: &'a [W]) -> Option<Multi<'a, W>> {
        let [name, guard, rest @ ..] = argv else {
            return None;
        };
        let mut rest = rest;
        if !name.as_ref().eq_ignore_ascii_case(b"multi") {
            return None;
        }
        let guard = GUARDS.iter().position(|known| guard.as_ref() == *known)?;
        let mut commands = Vec::new();
        while let [count, words @ ..] = rest {
            let count: usize = std::str::from_utf8(count.as_ref()).ok()?.parse().ok()?;
            let (command, behind) = words.split_at_checked(count).filter(|_| count > 0)?;
            commands.push(command);
            rest = behind;
        }
        Some(Multi {
            guarded: guard == 1,
            commands,
        })
    }

    /// The command line that says it.
    pub fn words(&self) -> Vec<Bytes> {
        let guard = GUARDS[usize::from(self.guarded)];
        let mut argv = vec![b"MULTI".to_vec(), guard.to_vec()];
        for command in &self.commands {
            argv.push(command.len().to_string().into_bytes());
            argv.extend(command.iter().map(|word| word.as_ref().to_vec()));
        }
        argv
    }

    /// What goes over the wire: MULTI, the commands, EXEC.
    pub fn requests(&self) -> Vec<Vec<Bytes>> {
        let own = |command: &&[W]| command.iter().map(|word| word.as_ref().to_vec()).collect();
        let mut requests = vec![vec![b"MULTI".to_vec()]];
        requests.extend(self.commands.iter().map(own));
        requests.push(vec![b"EXEC".to_vec()]);
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_comes_back_as_it_went() {
        let [del, get] = [vec!["DEL", "a", "b"], vec!["GET", "MULTI"]];
        for guarded in [false, true] {
            let multi = Multi {
                guarded,
                commands: vec![&del[..], &get[..]],
            };
            let argv = multi.words();
            let read = Multi::of(&argv).unwrap();
            assert_eq!(read.words(), argv);
            assert_eq!(read.guarded, guarded);
            assert_eq!(
                read.commands[0],
                [b"DEL".to_vec(), b"a".to_vec(), b"b".to_vec()]
            );
            assert_eq!(read.requests().len(), 4);
        }
    }

    #[test]
    fn what_is_none_is_not_read_as_one() {
        for line in [
            "MULTI",
            "MULTI 1 GET",
            "MULTI plain 2 GET",
            "MULTI plain 0",
            "MULTI plain -1 GET",
            "MULTI plain 99999999999999999999 GET",
            "GET plain 1 X",
            "",
        ] {
            let argv: Vec<&str> = line.split(' ').collect();
            assert!(Multi::of(&argv).is_none(), "{line}");
        }
    }
}
