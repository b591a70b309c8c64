#!/usr/bin/env bash
# Compares lockproof with the independent models of tests/independent, where there is SPIN.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/machine.sh

if ! has_spin; then
    echo "left out: there is no spin with gcc (root gets it on Debian: scripts/setup.sh --tests)"
    exit 0
fi
cargo build --locked --quiet
python3 tests/independent/run.py --lockproof "$target/debug/lockproof" "$@"
