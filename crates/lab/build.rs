//! Compiles the clock library (`shim/lib.rs`), which the program carries.
//!
//! With rustc itself: stable cargo cannot build a cdylib as an ingredient of a
//! binary, and a package of its own would be left out of this one's `cargo package`.

use std::error::Error;
use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 2] = ["shim/lib.rs", "src/clock/layout.rs"];

fn main() -> Result<(), Box<dyn Error>> {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let library = Path::new(&std::env::var("OUT_DIR")?).join("liblockproof_clock.so");
    // Told to make a kind of library that a target does not have, rustc only warns; an
    // old one must not be taken for its work.
    let _ = std::fs::remove_file(&library);
    let mut rustc = Command::new(std::env::var("RUSTC")?);
    rustc
        .args(["--crate-name", "lockproof_clock", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--target", &std::env::var("TARGET")?])
        // Small and fast in every profile: it answers each look at the clock.
        .args(["-Copt-level=3", "-Cstrip=symbols", "-Cpanic=abort"])
        // Its libc is that of the server's process. A target that carries its own in every
        // program, as musl's do, makes no shared library otherwise.
        .arg("-Ctarget-feature=-crt-static")
        // It has neither a start nor an end, and asks for no library.
        .arg("-Clink-arg=-nostartfiles")
        // Rust's core names this function for unwinding, which never happens here.
        .arg("-Clink-arg=-Wl,--defsym=rust_eh_personality=0")
        .arg("-o")
        .arg(&library)
        .arg(SOURCES[0]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    let ended = rustc.status()?;
    if !ended.success() || !library.is_file() {
        return Err(format!("{SOURCES:?} make no clock library ({ended}): {rustc:?}").into());
    }
    Ok(())
}
