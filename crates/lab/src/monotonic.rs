//! One clock for all processes of a run.

/// Nanoseconds of the machine's monotonic clock, which every process reads
/// alike. It does not stand still while a process is stopped, and nobody can set
/// it (clock_gettime(2), CLOCK_MONOTONIC).
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
