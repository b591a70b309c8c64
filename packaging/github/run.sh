#!/usr/bin/env bash
# Runs lockproof with the inputs of action.yml, which come in variables LOCKPROOF_..; the second
# step of the action. It ends as lockproof ends.
set -euo pipefail

fail() {
    echo "::error title=lockproof::failed to run lockproof: $1"
    exit 64
}
# one_line NAME VALUE: an output's value must not begin another output.
one_line() {
    [[ $2 != *$'\n'* ]] || fail "$1 has more than one line"
}

out=${LOCKPROOF_OUT:-lockproof-report}
partition=${LOCKPROOF_PARTITION:-}
artifact=${LOCKPROOF_ARTIFACT:-}
one_line out "$out"
one_line artifact "$artifact"

arguments=(run --out "$out")
if [ -n "${LOCKPROOF_BASELINE:-}" ]; then
    [ -f "$LOCKPROOF_BASELINE" ] ||
        fail "there is no baseline $LOCKPROOF_BASELINE; write one with lockproof run --write-baseline, and commit it"
    arguments+=(--baseline "$LOCKPROOF_BASELINE")
fi
[ -z "${LOCKPROOF_REPLAYS:-}" ] || arguments+=(--replays "$LOCKPROOF_REPLAYS")
if [ -n "$partition" ]; then
    [[ $partition =~ ^[0-9]+/[0-9]+$ ]] || fail "partition is K/N such as 1/3"
    arguments+=(--partition "$partition")
    artifact=${artifact:-lockproof-report-${partition%/*}}
fi
# Behind it stand no options, whatever the file is called.
[ -z "${LOCKPROOF_MATRIX:-}" ] || arguments+=(-- "$LOCKPROOF_MATRIX")

{
    echo "out=$out"
    echo "artifact=${artifact:-lockproof-report}"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exec lockproof "${arguments[@]}"
