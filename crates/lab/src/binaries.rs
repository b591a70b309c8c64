//! Which server programs this machine has.
//!
//! Replays run on whatever is installed, and the differential test wants every
//! version that it can get. Programs come from the search path and, for a program
//! that was built here, from `target/servers/*/`, where `scripts/setup.sh` puts the
//! ones that are not packaged for the system. What a program is, is asked of the program itself:
//! a file name proves nothing (Valkey installs itself as redis-server too).

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::brief::{self, BriefError};

/// File names that a server program may have.
const NAMES: [&str; 2] = ["redis-server", "valkey-server"];

/// A server program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binary {
    /// What kind of server it says it is: `redis` or `valkey`.
    pub name: String,
    /// Its version, such as 7.0.15.
    pub version: Version,
    /// How to start it: a path, or a bare name to be found on the search path.
    pub path: PathBuf,
}

/// Major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Why a program is not one that lockproof can use.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// It does not start.
    #[error("failed to start {}: {source}; check that it is there and executable", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It starts, and gives no answer.
    #[error(
        "failed to ask `{} --version` what it is: {source}; give the path of a redis-server or \
         valkey-server",
        path.display()
    )]
    Silent {
        /// The program.
        path: PathBuf,
        /// What it did instead.
        source: BriefError,
    },
    /// It starts, but is no Redis server.
    #[error(
        "failed to understand `{} --version`: {answer:?}; give the path of a redis-server or \
         valkey-server",
        path.display()
    )]
    Strange {
        /// The program.
        path: PathBuf,
        /// What it printed.
        answer: String,
    },
    /// There is none.
    #[error(
        "failed to find a redis-server or valkey-server on the search path{}; install one, or \
         name one with --server (in a clone of lockproof, scripts/setup.sh gets one)",
        or_in(looked)
    )]
    None {
        /// What was looked through beside the search path.
        looked: Vec<PathBuf>,
    },
    /// There are others.
    #[error(
        "failed to find a {kind}-server of version {LEAST_OF_KIND} or later, which the lock asks \
         for, on the search path{}; install one, or name one with --server (in a clone of lockproof, scripts/setup.sh gets one)",
        or_in(looked)
    )]
    NoneOfKind {
        /// The kind of server that the lock asks for.
        kind: &'static str,
        /// What was looked through beside the search path.
        looked: Vec<PathBuf>,
    },
}

/// "or in A, B", for a message about a program that is not there.
pub(super) fn or_in(directories: &[PathBuf]) -> String {
    let names: Vec<String> = directories
        .iter()
        .map(|directory| directory.display().to_string())
        .collect();
    match names.as_slice() {
        [] => String::new(),
        _ => format!(" or in {}", names.join(", ")),
    }
}

/// Asks a program what it is.
pub fn inspect(path: &Path) -> Result<Binary, BinaryError> {
    let mut command = Command::new(path);
    command.arg("--version");
    let answer = brief::ask(command).map_err(|error| match error {
        BriefError::System(source) => BinaryError::Start {
            path: path.to_owned(),
            source,
        },
        source => BinaryError::Silent {
            path: path.to_owned(),
            source,
        },
    })?;
    let answer = shortened(answer.out.trim());
    parse_version(&answer)
        .map(|(name, version)| Binary {
            name,
            version,
            path: path.to_owned(),
        })
        .ok_or(BinaryError::Strange {
            path: path.to_owned(),
            answer,
        })
}

/// Enough of an answer to see what it is.
fn shortened(answer: &str) -> String {
    const CHARS: usize = 300;
    match answer.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}..", &answer[..end]),
        None => answer.to_owned(),
    }
}

/// Every usable program: those on the search path first, then those in the
/// subdirectories of `directories`, each part in a fixed order.
pub fn find(directories: &[PathBuf]) -> Vec<Binary> {
    look(directories).0
}

/// The same, and the programs that have the right name and cannot be used.
pub fn look(directories: &[PathBuf]) -> (Vec<Binary>, Vec<BinaryError>) {
    let (mut found, mut broken) = (Vec::<Binary>::new(), Vec::new());
    let on_path = NAMES.iter().map(PathBuf::from);
    let unpacked = directories.iter().flat_map(|directory| {
        let mut homes: Vec<PathBuf> = std::fs::read_dir(directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        homes.sort();
        homes
            .into_iter()
            .flat_map(|home| NAMES.map(|name| home.join(name)))
            .filter(|path| path.is_file())
    });
    for path in on_path.chain(unpacked) {
        match inspect(&path) {
            Ok(binary) => {
                let same =
                    |other: &Binary| (&other.name, other.version) == (&binary.name, binary.version);
                if !found.iter().any(same) {
                    found.push(binary);
                }
            }
            Err(BinaryError::Start { source, .. }) if is_absence(&source) => {}
            Err(error) => broken.push(error),
        }
    }
    (found, broken)
}

/// A folder of the search path that may not be looked into has no program for us.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory)
}

/// The program that replays use unless they are told another: the first of
/// [`find`].
pub fn find_default(directories: &[PathBuf]) -> Result<Binary, BinaryError> {
    let (found, broken) = look(directories);
    let none = || BinaryError::None {
        looked: directories.to_vec(),
    };
    let mut found = found.into_iter();
    found
        .next()
        .ok_or_else(|| broken.into_iter().next().unwrap_or_else(none))
}

/// The chosen program if it is of the kind that a lock asks for (any will do without a
/// kind), or the first of [`find`] that is.
///
/// # Errors
/// There is none of this kind.
pub fn of_kind(chosen: &Binary, kind: Option<&'static str>) -> Result<Binary, BinaryError> {
    let Some(kind) = kind else {
        return Ok(chosen.clone());
    };
    let fits = |binary: &Binary| binary.name == kind && binary.version >= LEAST_OF_KIND;
    if fits(chosen) {
        return Ok(chosen.clone());
    }
    let looked = server_directories();
    let found = find(&looked).into_iter().find(fits);
    found.ok_or(BinaryError::NoneOfKind { kind, looked })
}

/// The one kind that locks ask for is Valkey, for commands that it has since 9.0.
const LEAST_OF_KIND: Version = Version(9, 0, 0);

/// Where `scripts/setup.sh` puts servers, each in a directory of its own.
pub fn server_directories() -> Vec<PathBuf> {
    built_beside("servers")
}

/// Where `scripts/setup.sh` puts other programs.
pub fn tool_directories() -> Vec<PathBuf> {
    built_beside("tools")
}

/// This subdirectory of cargo's target directory that the running program is in.
///
/// The working directory is not looked at: what is found is started, and somebody
/// else may have put it there. For the same reason it must belong to us, to root, or
/// to whoever owns the program.
fn built_beside(subdirectory: &str) -> Vec<PathBuf> {
    let Ok(program) = std::env::current_exe() else {
        return Vec::new();
    };
    let own = [
        Some(0),
        Some(rustix::process::geteuid().as_raw()),
        owner(&program),
    ];
    program
        .ancestors()
        .skip(1)
        // One that cargo made itself is marked, whatever its name is.
        .filter(|folder| folder.ends_with("target") || folder.join("CACHEDIR.TAG").is_file())
        .map(|folder| folder.join(subdirectory))
        .filter(|folder| owner(folder).is_some_and(|owner| own.contains(&Some(owner))))
        .collect()
}

/// The user that a file or directory, or a link itself, belongs to.
fn owner(path: &Path) -> Option<u32> {
    Some(std::fs::symlink_metadata(path).ok()?.uid())
}

/// Reads `Redis server v=7.0.15 sha=...` and `Valkey server v=9.1.2 sha=...`.
fn parse_version(answer: &str) -> Option<(String, Version)> {
    let mut words = answer.split_whitespace();
    let name = words.next()?.to_ascii_lowercase();
    if !["redis", "valkey"].contains(&name.as_str()) {
        return None;
    }
    let text = words.find_map(|word| word.strip_prefix("v="))?;
    let mut parts = text.split('.').map(|part| {
        let digits = part.split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap_or_default().parse().unwrap_or(0)
    });
    let version = Version(parts.next()?, parts.next()?, parts.next().unwrap_or(0));
    Some((name, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_lines_of_both_kinds_are_understood() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
        assert_eq!(
            parse_version(redis),
            Some(("redis".into(), Version(7, 0, 15)))
        );
        let valkey = "Valkey server v=9.1.2-rc1 sha=00000000:0 malloc=libc bits=64";
        assert_eq!(
            parse_version(valkey),
            Some(("valkey".into(), Version(9, 1, 2)))
        );
    }

    #[test]
    fn another_program_is_refused() {
        assert_eq!(parse_version("sleep (GNU coreutils) 9.1"), None);
        let error = inspect(Path::new("true")).unwrap_err().to_string();
        assert!(error.contains("redis-server"), "{error}");
    }

    #[test]
    fn a_server_in_a_subdirectory_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("valkey-0");
        std::fs::create_dir(&home).unwrap();
        let program = home.join("valkey-server");
        // Written by a child: were it open for writing here, a process that
        // another test forks at that moment would make it "text file busy".
        let script = r#"printf '#!/bin/sh\necho Valkey server v=0.0.7\n' >"$0"; chmod +x "$0""#;
        let mut shell = Command::new("sh");
        assert!(
            shell
                .arg("-c")
                .arg(script)
                .arg(&program)
                .status()
                .unwrap()
                .success()
        );
        let found = find(&[dir.path().to_owned()]);
        assert!(found.iter().any(|b| b.to_string() == "valkey 0.0.7"));
    }

    #[test]
    fn no_server_is_an_error_that_names_the_set_up_script() {
        let error = BinaryError::None {
            looked: vec!["target/servers".into()],
        };
        assert!(error.to_string().contains("or in target/servers; install"));
        assert!(error.to_string().contains("scripts/setup.sh"));
    }
}
