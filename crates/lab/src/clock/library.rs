//! The clock library, carried in this program and lent to servers.
//!
//! The dynamic loader wants a file. This one is in memory only (memfd_create(2)),
//! sealed against every change, and a server inherits the descriptor: the loader
//! opens `/proc/self/fd/N`. So there is nothing to install beside the program or to
//! find again, nothing that another user or another run could have put there, and
//! nothing to clear up after a SIGKILL. It works in a read-only home, on a `/tmp`
//! that is mounted noexec, and below a TMPDIR whose name has spaces or colons, which
//! LD_PRELOAD would take for the ends of names.
//!
//! Rejected: a file beside the program or in `target/`, which an installed program
//! does not have; and one that is unpacked into a cache or a temporary directory,
//! which has all the troubles above.
//!
//! Whether a server did load it is asked of the page, not of the file: see
//! [`ServerClock::is_read`](super::ServerClock::is_read).

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::dup;

use super::ClockError;

/// `shim/lib.rs`, as build.rs compiled it.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/liblockproof_clock.so"));

/// A shared library that servers can be told to load.
#[derive(Clone, Debug)]
pub struct Library(Arc<File>);

impl Library {
    /// The library that was built with this program.
    ///
    /// # Errors
    /// If the system has no room, or does not allow files in memory.
    pub fn built_in() -> Result<Library, ClockError> {
        Library::of(BUILT_IN)
    }

    /// A library of these bytes, whatever they are.
    ///
    /// # Errors
    /// As [`Library::built_in`].
    pub fn of(bytes: &[u8]) -> Result<Library, ClockError> {
        let make = || {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let mut file = File::from(memfd_create("lockproof-clock", flags)?);
            file.write_all(bytes)?;
            let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            fcntl_add_seals(&file, all)?;
            Ok(Library(Arc::new(file)))
        };
        make().map_err(ClockError::Library)
    }

    /// The bytes of [`Library::built_in`].
    pub fn bytes() -> &'static [u8] {
        BUILT_IN
    }

    /// True for an ELF file of the kind that programs on this machine load. The dynamic
    /// loader only warns of another one, and goes on without it.
    pub fn fits_this_machine(bytes: &[u8]) -> bool {
        // EI_CLASS 2 is 64 bits, EI_DATA 1 little-endian; then e_machine.
        let machine: Option<u16> = match std::env::consts::ARCH {
            "x86_64" => Some(62),
            "aarch64" => Some(183),
            "riscv64" => Some(243),
            _ => None,
        };
        let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
        let own = bytes
            .get(18..20)
            .map(|own| u16::from_le_bytes([own[0], own[1]]));
        is_elf && machine.is_none_or(|machine| own == Some(machine))
    }

    /// Has the dynamic loader put this library before all others of the program, which
    /// must be started by `start` at once: until then the file is open for children.
    pub(crate) fn lend<T>(
        &self,
        command: &mut Command,
        start: impl FnOnce(&mut Command) -> std::io::Result<T>,
    ) -> std::io::Result<T> {
        // Unlike ours, a duplicate stays open across exec.
        let lent = dup(&*self.0)?;
        command.env("LD_PRELOAD", format!("/proc/self/fd/{}", lent.as_raw_fd()));
        start(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_change_it() {
        let library = Library::built_in().unwrap();
        let path = format!("/proc/self/fd/{}", library.0.as_raw_fd());
        assert_eq!(std::fs::read(&path).unwrap(), BUILT_IN);
        let mut opened = File::options().write(true).open(&path).unwrap();
        assert!(opened.write_all(b"x").is_err());
        assert!(opened.set_len(0).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), BUILT_IN);
    }

    /// It is loaded into processes of all kinds: it must not ask for a library, nor
    /// say where it was built.
    #[test]
    fn it_brings_nothing_along() {
        assert!(BUILT_IN.starts_with(b"\x7fELF"));
        let names = |word: &str| {
            let mut parts = BUILT_IN.windows(word.len());
            parts.any(|part| part == word.as_bytes())
        };
        assert!(names("clock_gettime") && names("LOCKPROOF_CLOCK"));
        for word in [
            "libc.so", "libgcc", "GLIBC", "panicked", ".rs", "/home", "/root",
        ] {
            assert!(!names(word), "{word}");
        }
    }

    #[test]
    fn a_library_of_another_machine_is_told_apart() {
        assert!(Library::fits_this_machine(BUILT_IN));
        let mut foreign = BUILT_IN.to_vec();
        foreign[18] ^= 0xff;
        for other in [foreign.as_slice(), b"", b"\x7fELF", b"#!/bin/sh\n"] {
            assert!(!Library::fits_this_machine(other));
        }
    }

    #[test]
    fn only_the_child_that_loads_it_inherits_it() {
        let library = Library::built_in().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "test -r ${LD_PRELOAD:-/none}"]);
        let starts = |command: &mut Command| Ok(command.status()?.success());
        assert!(library.lend(&mut shell, starts).unwrap());
        // The name is known still, and nothing is behind it.
        assert!(!starts(&mut shell).unwrap());
    }
}
