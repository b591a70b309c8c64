#!/usr/bin/env bash
# Hunts with libFuzzer, FUZZ_SECONDS for each target.
#
#   FUZZ_TARGET   one of the targets of tests/fuzz/targets/mod.rs; all of them if not said
#   FUZZ_SECONDS  60 if not said
#
# What it found interesting stays in target/fuzz/corpus and is where the next hunt begins;
# an input that fails is put into target/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

command -v cargo-fuzz >/dev/null || {
    echo "cargo-fuzz is needed: cargo install cargo-fuzz" >&2
    exit 64
}
# The seeds, in folders: the test program knows where they come from.
cargo test --locked --quiet --test fuzz -- --exact seeds_are_laid_out >/dev/null
work=$target/fuzz
targets=${FUZZ_TARGET:-$(ls "$target/tmp/seeds")}
mkdir -p "$work/found"
failed=0
for name in $targets; do
    echo "== $name"
    mkdir -p "$work/corpus/$name"
    # No sanitizer: it needs a nightly compiler, and there is next to no unsafe code to watch.
    FUZZ_TARGET=$name cargo fuzz run --sanitizer none --target-dir "$work" any \
        "$work/corpus/$name" "$target/tmp/seeds/$name" -- \
        -max_total_time="${FUZZ_SECONDS:-60}" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$work/found/$name-" || failed=1
done
exit $failed
