//! What a process that reads a lock file and starts nothing need not be able to do.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
};

/// The newest Landlock whose rules are used.
const KNOWN: ABI = ABI::V6;

/// From here on this process can execute no program, make no TCP connection, and write no
/// file but below `writable` if that is given (and to what is open already). Where the kernel has no
/// Landlock, or an older one, it is as much of that as there is.
///
/// `writable` need not exist; the folder that does exist above it is meant then.
///
/// # Errors
/// If the kernel refuses what it says that it can do.
pub fn confine(writable: Option<&Path>) -> Result<(), RulesetError> {
    let reads = AccessFs::from_read(KNOWN) & !BitFlags::from(AccessFs::Execute);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    if let Ok(root) = PathFd::new("/") {
        rules = rules.add_rule(PathBeneath::new(root, reads))?;
    }
    let here = Path::new(".");
    let folder = writable.map(|writable| {
        let mut above = writable.ancestors();
        let folder = above.find(|path| path.exists());
        folder.filter(|path| *path != Path::new("")).unwrap_or(here)
    });
    if let Some(Ok(folder)) = folder.map(PathFd::new) {
        let writes = reads | AccessFs::from_write(KNOWN);
        rules = rules.add_rule(PathBeneath::new(folder, writes))?;
    }
    rules.restrict_self()?;
    Ok(())
}
