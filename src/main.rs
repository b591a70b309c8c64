//! The `lockproof` binary: everything is in the library's `cli` module.

fn main() -> std::process::ExitCode {
    lockproof::cli::main()
}
