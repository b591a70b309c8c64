//! Power loss, without pulling a plug.
//!
//! Killing a server does not lose what it wrote: the page cache survives it,
//! whatever `appendfsync` says. What a power failure loses is the tail that no
//! fsync had carried to the disk. So that tail is cut off: note the length of the
//! append-only file while what follows is not yet synced, kill the server,
//! truncate the file to the noted length, restart.

use std::path::PathBuf;

use super::{Persistence, Server, ServerError};

impl Server {
    /// Bytes in the append-only file that grows now; 0 if there is none. All
    /// that the server has replied to is in it.
    pub fn aof_len(&self) -> Result<u64, ServerError> {
        match self.aof() {
            None => Ok(0),
            Some(file) => std::fs::metadata(file)
                .map(|metadata| metadata.len())
                .map_err(|source| self.system("measure the append-only file", source)),
        }
    }

    /// Cuts the append-only file of a killed server to `length` bytes, as if no
    /// more had reached the disk. A file that is shorter stays as it is.
    pub fn truncate_aof_to(&self, length: u64) -> Result<(), ServerError> {
        if self.pid().is_some() {
            return Err(ServerError::StillRunning {
                server: self.to_string(),
                what: "cutting its append-only file",
            });
        }
        let Some(path) = self.aof() else {
            return Ok(());
        };
        let cut = || {
            let file = std::fs::OpenOptions::new().write(true).open(path)?;
            let length = length.min(file.metadata()?.len());
            file.set_len(length)
        };
        cut().map_err(|source| self.system("cut the append-only file", source))
    }

    /// Removes the append-only file of a killed server, with all of its parts.
    /// Cutting the part that grows would leave what a replica was copied from.
    pub fn remove_aof(&self) -> Result<(), ServerError> {
        if self.pid().is_some() {
            return Err(ServerError::StillRunning {
                server: self.to_string(),
                what: "removing its append-only file",
            });
        }
        let removed = [
            std::fs::remove_dir_all(self.directory().join("appendonlydir")),
            std::fs::remove_file(self.directory().join("appendonly.aof")),
        ];
        for result in removed {
            match result {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(self.system("remove the append-only file", source));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what replication left behind. A server that keeps nothing would
    /// read the copy that it made for a replica, or got as one, when it starts.
    pub(super) fn forget_copies(&self) -> Result<(), ServerError> {
        if self.options().persistence != Persistence::None {
            return Ok(());
        }
        match std::fs::remove_file(self.directory().join("dump.rdb")) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(self.system("remove a copy for replication", source))
            }
            _ => Ok(()),
        }
    }

    /// The file that grows: the newest `*.incr.aof` since Redis 7, before that
    /// the only one.
    fn aof(&self) -> Option<PathBuf> {
        let number = |path: &PathBuf| -> Option<u64> {
            let name = path.file_name()?.to_str()?.strip_suffix(".incr.aof")?;
            name.rsplit_once('.')?.1.parse().ok()
        };
        let newest = std::fs::read_dir(self.directory().join("appendonlydir"))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| number(path).is_some())
            .max_by_key(number);
        let single = self.directory().join("appendonly.aof");
        newest.or_else(|| single.is_file().then_some(single))
    }
}
