#!/usr/bin/env bash
# Runs one phase of `make test` and tells how long it took.
#
#   scripts/phase.sh NAME COMMAND [ARGUMENT...]
#
# Where PHASES names a file, a line about the phase is added to it: .ci/run
# prints that file at the end, so that the slow phase of a long log is seen.
set -euo pipefail
name=$1
shift

echo "== $name: $*"
start=$SECONDS
code=0
"$@" || code=$?
ended=$([ $code = 0 ] && echo ok || echo "FAILED ($code)")
line=$(printf '%-12s %5d s  %s' "$name" $((SECONDS - start)) "$ended")
echo "== $line"
[ -z "${PHASES:-}" ] || echo "$line" >>"$PHASES"
exit $code
