#!/usr/bin/env bash
# Runs the phases of `make test`, each of them whatever became of the ones before, and
# tells at the end how long each took, how it ended, and which tests were left out.
#
#   scripts/phases.sh PHASE...
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/machine.sh

# A phase is a make of its own: what was said to this one (-n, -k, -j) was not for it.
unset MAKEFLAGS MAKELEVEL MFLAGS
rm -f "$target/left-out.txt"
failed=0
summary=
begun=$SECONDS
for phase in "$@"; do
    echo "== $phase"
    start=$SECONDS
    ended=ok
    make --no-print-directory "$phase" || { ended="FAILED ($?)" && failed=1; }
    line=$(printf '%-12s %5d s  %s' "$phase" $((SECONDS - start)) "$ended")
    echo "== $line"
    summary+=$line$'\n'
done
echo
echo "== phases"
printf '%s' "$summary"
printf '%-12s %5d s  %s\n' all $((SECONDS - begun)) "$([ $failed = 0 ] && echo ok || echo FAILED)"
cat "$target/left-out.txt" 2>/dev/null
exit $failed
